DROP TRIGGER IF EXISTS {{.Trigger "_insert"}};
-- next statement
DROP TRIGGER IF EXISTS {{.Trigger "_update"}};
-- next statement
DROP TRIGGER IF EXISTS {{.Trigger "_delete"}};
