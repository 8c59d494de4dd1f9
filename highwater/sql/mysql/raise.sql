-- ? source, ? resource, ? number. The insert id of the statement is 1 if the number is greater than the mark, else 0.
INSERT INTO fencerow_high_water (source, resource, number)
VALUES (?, ?, ? + 0 * LAST_INSERT_ID(1))
ON DUPLICATE KEY UPDATE
    number = IF(number < VALUES(number), VALUES(number) + 0 * LAST_INSERT_ID(1), number + LAST_INSERT_ID(0));
