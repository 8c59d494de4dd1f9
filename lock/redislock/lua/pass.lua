-- KEYS: lock, waiters. ARGV: channel prefix, resource.
-- Wakes the next process if the lock is free, for one that was woken and has nobody who waits any more.

local _, number = parse(redis.call('GET', KEYS[1]))
if number == '' then wake(KEYS[2], ARGV[1], ARGV[2]) end
return 0
