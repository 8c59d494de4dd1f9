-- $1 source, $2 resource, $3 number. Changes one row if the number is greater than the mark, else none.
INSERT INTO fencerow_high_water AS h (source, resource, number)
VALUES ($1, $2, $3)
ON CONFLICT (source, resource) DO UPDATE
   SET number = excluded.number
 WHERE h.number < excluded.number;
