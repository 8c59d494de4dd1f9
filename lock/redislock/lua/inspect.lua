-- KEYS: lock, counter.
-- Returns grant id, number and holder of the lock, its ms left, and the counter.

local grant, number, holder = parse(redis.call('GET', KEYS[1]))
return {grant or '', number, holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '0'}
