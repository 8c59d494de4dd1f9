DROP TRIGGER IF EXISTS {{.Trigger "_rows"}} ON {{.Table}};
-- next statement
DROP TRIGGER IF EXISTS {{.Trigger "_truncate"}} ON {{.Table}};
