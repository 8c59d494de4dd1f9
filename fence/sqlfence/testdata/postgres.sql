-- token, update
UPDATE "accounts"
   SET balance = balance - $1, note = 'why?'
     , by = $2 -- that's who
     , "fence_token" = $3
 WHERE "id" = $4
   AND "fence_token" < $5
   AND (balance >= $6
       )
   AND (open OR $7
       )
-- [100 me 34 eu 34 100 true]

-- token, state
SELECT "fence_token", 0, ''
  FROM "accounts"
 WHERE "id" = $1 FOR NO KEY UPDATE
-- [eu]

-- token, insert
INSERT INTO "accounts" ("id", "balance", "fence_token")
VALUES ($1, $2, $3)
ON CONFLICT ("id") DO NOTHING
-- [eu 100 34]

-- token, delete
DELETE FROM "accounts"
 WHERE "id" = $1
   AND "fence_token" < $2
   AND (balance >= $3
       )
   AND (open OR $4
       )
-- [eu 34 100 true]

-- token, override
UPDATE "accounts"
   SET "fence_token" = $1
 WHERE "id" = $2
-- [0 eu]

-- token, not older, update
UPDATE "accounts"
   SET balance = balance - $1, note = 'why?'
     , by = $2 -- that's who
     , "fence_token" = $3
 WHERE "id" = $4
   AND "fence_token" <= $5
   AND (balance >= $6
       )
   AND (open OR $7
       )
-- [100 me 34 eu 34 100 true]

-- token, not older, state
SELECT "fence_token", 0, ''
  FROM "accounts"
 WHERE "id" = $1 FOR NO KEY UPDATE
-- [eu]

-- token, not older, insert
INSERT INTO "accounts" ("id", "balance", "fence_token")
VALUES ($1, $2, $3)
ON CONFLICT ("id") DO NOTHING
-- [eu 100 34]

-- token, not older, delete
DELETE FROM "accounts"
 WHERE "id" = $1
   AND "fence_token" <= $2
   AND (balance >= $3
       )
   AND (open OR $4
       )
-- [eu 34 100 true]

-- token, not older, override
UPDATE "accounts"
   SET "fence_token" = $1
 WHERE "id" = $2
-- [0 eu]

-- token and step, update
UPDATE "accounts"
   SET balance = balance - $1, note = 'why?'
     , by = $2 -- that's who
     , "fence_step" = $3
     , "fence_token" = $4
 WHERE "id" = $5
   AND ("fence_token" < $6 OR ("fence_token" = $7 AND "fence_step" < $8))
   AND (balance >= $9
       )
   AND (open OR $10
       )
-- [100 me 7 34 eu 34 34 7 100 true]

-- token and step, state
SELECT "fence_token", "fence_step", ''
  FROM "accounts"
 WHERE "id" = $1 FOR NO KEY UPDATE
-- [eu]

-- token and step, insert
INSERT INTO "accounts" ("id", "balance", "fence_step", "fence_token")
VALUES ($1, $2, $3, $4)
ON CONFLICT ("id") DO NOTHING
-- [eu 100 7 34]

-- token and step, delete
DELETE FROM "accounts"
 WHERE "id" = $1
   AND ("fence_token" < $2 OR ("fence_token" = $3 AND "fence_step" < $4))
   AND (balance >= $5
       )
   AND (open OR $6
       )
-- [eu 34 34 7 100 true]

-- token and step, override
UPDATE "accounts"
   SET "fence_step" = 0
     , "fence_token" = $1
 WHERE "id" = $2
-- [0 eu]

-- token, step and grant, update
UPDATE "accounts"
   SET balance = balance - $1, note = 'why?'
     , by = $2 -- that's who
     , "fence_grant" = $3
     , "fence_step" = $4
     , "fence_token" = $5
 WHERE "id" = $6
   AND "fence_token" = $7 AND "fence_grant" = $8 AND "fence_step" < $9
   AND (balance >= $10
       )
   AND (open OR $11
       )
-- [100 me g 7 34 eu 34 g 7 100 true]

-- token, step and grant, claim
UPDATE "accounts"
   SET "fence_step" = CASE WHEN "fence_token" < $1 THEN 0 ELSE "fence_step" END
     , "fence_grant" = $2
     , "fence_token" = $3
 WHERE "id" = $4
   AND ("fence_token" < $5 OR ("fence_token" = $6 AND "fence_grant" = $7))
RETURNING "fence_token", "balance"
-- [34 g 34 eu 34 34 g]

-- token, step and grant, state
SELECT "fence_token", "fence_step", "fence_grant"
  FROM "accounts"
 WHERE "id" = $1 FOR NO KEY UPDATE
-- [eu]

-- token, step and grant, insert
INSERT INTO "accounts" ("id", "balance", "fence_grant", "fence_step", "fence_token")
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT ("id") DO NOTHING
-- [eu 100 g 7 34]

-- token, step and grant, delete
DELETE FROM "accounts"
 WHERE "id" = $1
   AND "fence_token" = $2 AND "fence_grant" = $3 AND "fence_step" < $4
   AND (balance >= $5
       )
   AND (open OR $6
       )
-- [eu 34 g 7 100 true]

-- token, step and grant, override
UPDATE "accounts"
   SET "fence_grant" = $1
     , "fence_step" = 0
     , "fence_token" = $2
 WHERE "id" = $3
-- [override 0 eu]

-- hostile names, update
UPDATE "Ba""nk"."my ""accounts""; --"
   SET balance = balance - $1, note = 'why?'
     , by = $2 -- that's who
     , "step$1" = $3
     , "Token ?" = $4
 WHERE "the ""region""" = $5 AND "Id" = $6
   AND ("Token ?" < $7 OR ("Token ?" = $8 AND "step$1" < $9))
   AND (balance >= $10
       )
   AND (open OR $11
       )
-- [100 me 7 34 eu 42 34 34 7 100 true]

-- hostile names, state
SELECT "Token ?", "step$1", ''
  FROM "Ba""nk"."my ""accounts""; --"
 WHERE "the ""region""" = $1 AND "Id" = $2 FOR NO KEY UPDATE
-- [eu 42]

-- hostile names, insert
INSERT INTO "Ba""nk"."my ""accounts""; --" ("the ""region""", "Id", "balance", "step$1", "Token ?")
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT ("the ""region""", "Id") DO NOTHING
-- [eu 42 100 7 34]

-- hostile names, delete
DELETE FROM "Ba""nk"."my ""accounts""; --"
 WHERE "the ""region""" = $1 AND "Id" = $2
   AND ("Token ?" < $3 OR ("Token ?" = $4 AND "step$1" < $5))
   AND (balance >= $6
       )
   AND (open OR $7
       )
-- [eu 42 34 34 7 100 true]

-- hostile names, override
UPDATE "Ba""nk"."my ""accounts""; --"
   SET "step$1" = 0
     , "Token ?" = $1
 WHERE "the ""region""" = $2 AND "Id" = $3
-- [0 eu 42]

