CREATE TRIGGER {{.Trigger "_insert"}} BEFORE INSERT ON {{.Table}} FOR EACH ROW
BEGIN
{{template "declare" .}}
    DECLARE fencerow_operation VARCHAR(16) DEFAULT 'INSERT';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET fencerow_stored = NULL;
    SET fencerow_resource = {{.Resource "NEW"}}, fencerow_presented = {{.Token "NEW"}};
    SELECT fence_token INTO fencerow_stored FROM fencerow_gate WHERE resource = CAST(fencerow_resource AS BINARY) LOCK IN SHARE MODE;
    IF COALESCE(fencerow_presented, 0) = 0 THEN
        SET fencerow_reason = 'unfenced';
    ELSEIF fencerow_presented < fencerow_stored THEN
        SET fencerow_reason = 'stale';
    END IF;
    IF fencerow_reason IS NOT NULL THEN
{{template "report" .}}
    END IF;
END
-- next statement
CREATE TRIGGER {{.Trigger "_update"}} BEFORE UPDATE ON {{.Table}} FOR EACH ROW
BEGIN
{{template "declare" .}}
    DECLARE fencerow_operation VARCHAR(16) DEFAULT 'UPDATE';
    SET fencerow_resource = {{.Resource "OLD"}}, fencerow_presented = {{.Token "NEW"}}, fencerow_stored = {{.Token "OLD"}};
    IF CAST(fencerow_resource AS BINARY) <> CAST({{.Resource "NEW"}} AS BINARY) THEN
        SET fencerow_reason = 'delete'; -- under its old key
    ELSEIF {{.Token "NEW"}} > {{.Token "OLD"}} OR ({{.Token "NEW"}} = {{.Token "OLD"}} AND {{.Step "NEW"}} > {{.Step "OLD"}}) THEN
        SET fencerow_reason = NULL;
    ELSEIF {{.Unchanged}} THEN
        SET fencerow_reason = NULL;
    ELSEIF EXISTS (SELECT 1 FROM fencerow_override WHERE resource = CAST(fencerow_resource AS BINARY) AND old_token = fencerow_stored AND new_token = fencerow_presented)
       AND fencerow_presented <> fencerow_stored THEN
        SET fencerow_reason = NULL;
    ELSEIF fencerow_presented < fencerow_stored AND fencerow_presented > 0
        OR fencerow_presented = fencerow_stored AND {{.Step "NEW"}} < {{.Step "OLD"}} THEN
        SET fencerow_reason = 'stale';
    ELSE
        SET fencerow_reason = 'unfenced';
    END IF;
    IF fencerow_reason IS NOT NULL THEN
{{template "report" .}}
        SET {{.Token "NEW"}} = GREATEST(COALESCE({{.Token "OLD"}}, 0), COALESCE({{.Token "NEW"}}, 0)); -- the mark does not go down
    END IF;
END
-- next statement
CREATE TRIGGER {{.Trigger "_delete"}} BEFORE DELETE ON {{.Table}} FOR EACH ROW
BEGIN
{{template "declare" .}}
    DECLARE fencerow_operation VARCHAR(16) DEFAULT 'DELETE';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET fencerow_presented = NULL;
    SET fencerow_resource = {{.Resource "OLD"}}, fencerow_stored = COALESCE({{.Token "OLD"}}, 0);
    SELECT fence_token, fence_step INTO fencerow_presented, fencerow_step FROM fencerow_gate WHERE resource = CAST(fencerow_resource AS BINARY);
    IF fencerow_presented IS NULL OR fencerow_presented < fencerow_stored
       OR (fencerow_presented = fencerow_stored AND fencerow_step <= {{.Step "OLD"}}) THEN
        SET fencerow_reason = 'delete';
{{template "report" .}}
    END IF;
END
