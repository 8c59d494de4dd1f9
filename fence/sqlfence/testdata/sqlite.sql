-- token, update
UPDATE `accounts`
   SET balance = balance - ?, note = 'why?'
     , by = ? -- that's who
     , `fence_token` = ?
 WHERE `id` = ?
   AND `fence_token` < ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [100 me 34 eu 34 100 true]

-- token, state
SELECT `fence_token`, 0, ''
  FROM `accounts`
 WHERE `id` = ?
-- [eu]

-- token, insert
INSERT INTO `accounts` (`id`, `balance`, `fence_token`)
VALUES (?, ?, ?)
ON CONFLICT (`id`) DO NOTHING
-- [eu 100 34]

-- token, delete
DELETE FROM `accounts`
 WHERE `id` = ?
   AND `fence_token` < ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [eu 34 100 true]

-- token, override
UPDATE `accounts`
   SET `fence_token` = ?
 WHERE `id` = ?
-- [0 eu]

-- token, not older, update
UPDATE `accounts`
   SET balance = balance - ?, note = 'why?'
     , by = ? -- that's who
     , `fence_token` = ?
 WHERE `id` = ?
   AND `fence_token` <= ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [100 me 34 eu 34 100 true]

-- token, not older, state
SELECT `fence_token`, 0, ''
  FROM `accounts`
 WHERE `id` = ?
-- [eu]

-- token, not older, insert
INSERT INTO `accounts` (`id`, `balance`, `fence_token`)
VALUES (?, ?, ?)
ON CONFLICT (`id`) DO NOTHING
-- [eu 100 34]

-- token, not older, delete
DELETE FROM `accounts`
 WHERE `id` = ?
   AND `fence_token` <= ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [eu 34 100 true]

-- token, not older, override
UPDATE `accounts`
   SET `fence_token` = ?
 WHERE `id` = ?
-- [0 eu]

-- token and step, update
UPDATE `accounts`
   SET balance = balance - ?, note = 'why?'
     , by = ? -- that's who
     , `fence_step` = ?
     , `fence_token` = ?
 WHERE `id` = ?
   AND (`fence_token` < ? OR (`fence_token` = ? AND `fence_step` < ?))
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [100 me 7 34 eu 34 34 7 100 true]

-- token and step, state
SELECT `fence_token`, `fence_step`, ''
  FROM `accounts`
 WHERE `id` = ?
-- [eu]

-- token and step, insert
INSERT INTO `accounts` (`id`, `balance`, `fence_step`, `fence_token`)
VALUES (?, ?, ?, ?)
ON CONFLICT (`id`) DO NOTHING
-- [eu 100 7 34]

-- token and step, delete
DELETE FROM `accounts`
 WHERE `id` = ?
   AND (`fence_token` < ? OR (`fence_token` = ? AND `fence_step` < ?))
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [eu 34 34 7 100 true]

-- token and step, override
UPDATE `accounts`
   SET `fence_step` = 0
     , `fence_token` = ?
 WHERE `id` = ?
-- [0 eu]

-- token, step and grant, update
UPDATE `accounts`
   SET balance = balance - ?, note = 'why?'
     , by = ? -- that's who
     , `fence_grant` = ?
     , `fence_step` = ?
     , `fence_token` = ?
 WHERE `id` = ?
   AND `fence_token` = ? AND `fence_grant` = ? AND `fence_step` < ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [100 me g 7 34 eu 34 g 7 100 true]

-- token, step and grant, claim
UPDATE `accounts`
   SET `fence_step` = CASE WHEN `fence_token` < ? THEN 0 ELSE `fence_step` END
     , `fence_grant` = ?
     , `fence_token` = ?
 WHERE `id` = ?
   AND (`fence_token` < ? OR (`fence_token` = ? AND `fence_grant` = ?))
RETURNING `fence_token`, `balance`
-- [34 g 34 eu 34 34 g]

-- token, step and grant, state
SELECT `fence_token`, `fence_step`, `fence_grant`
  FROM `accounts`
 WHERE `id` = ?
-- [eu]

-- token, step and grant, insert
INSERT INTO `accounts` (`id`, `balance`, `fence_grant`, `fence_step`, `fence_token`)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (`id`) DO NOTHING
-- [eu 100 g 7 34]

-- token, step and grant, delete
DELETE FROM `accounts`
 WHERE `id` = ?
   AND `fence_token` = ? AND `fence_grant` = ? AND `fence_step` < ?
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [eu 34 g 7 100 true]

-- token, step and grant, override
UPDATE `accounts`
   SET `fence_grant` = ?
     , `fence_step` = 0
     , `fence_token` = ?
 WHERE `id` = ?
-- [override 0 eu]

-- hostile names, update
UPDATE `Ba"nk`.`my "accounts"; --`
   SET balance = balance - ?, note = 'why?'
     , by = ? -- that's who
     , `step$1` = ?
     , `Token ?` = ?
 WHERE `the "region"` = ? AND `Id` = ?
   AND (`Token ?` < ? OR (`Token ?` = ? AND `step$1` < ?))
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [100 me 7 34 eu 42 34 34 7 100 true]

-- hostile names, state
SELECT `Token ?`, `step$1`, ''
  FROM `Ba"nk`.`my "accounts"; --`
 WHERE `the "region"` = ? AND `Id` = ?
-- [eu 42]

-- hostile names, insert
INSERT INTO `Ba"nk`.`my "accounts"; --` (`the "region"`, `Id`, `balance`, `step$1`, `Token ?`)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (`the "region"`, `Id`) DO NOTHING
-- [eu 42 100 7 34]

-- hostile names, delete
DELETE FROM `Ba"nk`.`my "accounts"; --`
 WHERE `the "region"` = ? AND `Id` = ?
   AND (`Token ?` < ? OR (`Token ?` = ? AND `step$1` < ?))
   AND (balance >= ?
       )
   AND (open OR ?
       )
-- [eu 42 34 34 7 100 true]

-- hostile names, override
UPDATE `Ba"nk`.`my "accounts"; --`
   SET `step$1` = 0
     , `Token ?` = ?
 WHERE `the "region"` = ? AND `Id` = ?
-- [0 eu 42]

