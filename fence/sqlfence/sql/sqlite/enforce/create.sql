{{- /* A trigger of SQLite cannot say what was presented, and cannot change the row. */ -}}
CREATE TRIGGER {{.Trigger "_insert"}} BEFORE INSERT ON {{.Bare}} FOR EACH ROW
BEGIN
{{- if .LogOnly}}
    INSERT INTO fencerow_violation (relation, operation, reason, resource, presented, stored)
    SELECT {{.Literal}}, 'INSERT', reason, {{.Resource "NEW"}}, {{.Token "NEW"}}, stored
      FROM (
{{- else}}
    SELECT CASE reason WHEN 'stale' THEN RAISE(ABORT, 'fencerow: stale write to the table: another holder is newer')
                       ELSE RAISE(ABORT, 'fencerow: unfenced write to the table: it moves no token forward') END
      FROM (
{{- end}}
        SELECT CASE WHEN {{.Token "NEW"}} < stored AND {{.Token "NEW"}} > 0 THEN 'stale' ELSE 'unfenced' END AS reason, stored
          FROM (SELECT max((SELECT COALESCE(max(fence_token), 0) FROM fencerow_gate WHERE resource = {{.Resource "NEW"}}),
                           (SELECT COALESCE(max({{.TokenColumn}}), 0) FROM {{.Bare}} WHERE {{.SameKey}})) AS stored)
         WHERE COALESCE({{.Token "NEW"}}, 0) = 0 OR {{.Token "NEW"}} < stored
            -- A row that is there would be replaced.
            OR EXISTS (SELECT 1 FROM {{.Bare}} WHERE {{.SameKey}}
                          AND NOT ({{.Token "NEW"}} > {{.TokenColumn}} OR ({{.Token "NEW"}} = {{.TokenColumn}} AND {{.Step "NEW"}} > {{.StepColumn}}))));
END;
-- next statement
CREATE TRIGGER {{.Trigger "_update"}} BEFORE UPDATE ON {{.Bare}} FOR EACH ROW
WHEN NOT COALESCE({{.Resource "NEW"}} = {{.Resource "OLD"}}
          AND ({{.Token "NEW"}} > {{.Token "OLD"}} OR ({{.Token "NEW"}} = {{.Token "OLD"}} AND {{.Step "NEW"}} > {{.Step "OLD"}})), 0)
 AND NOT ({{.Unchanged}})
 AND NOT ({{.Token "NEW"}} IS NOT {{.Token "OLD"}} AND EXISTS (SELECT 1 FROM fencerow_override
           WHERE resource = {{.Resource "OLD"}} AND old_token = {{.Token "OLD"}} AND new_token = {{.Token "NEW"}}))
BEGIN
{{- if .LogOnly}}
    INSERT INTO fencerow_violation (relation, operation, reason, resource, presented, stored)
    VALUES ({{.Literal}}, 'UPDATE', CASE WHEN {{.Resource "NEW"}} <> {{.Resource "OLD"}} THEN 'delete' WHEN {{.Token "NEW"}} < {{.Token "OLD"}} AND {{.Token "NEW"}} > 0 OR {{.Token "NEW"}} = {{.Token "OLD"}} AND {{.Step "NEW"}} < {{.Step "OLD"}} THEN 'stale' ELSE 'unfenced' END,
            {{.Resource "OLD"}}, {{.Token "NEW"}}, {{.Token "OLD"}});
{{- else}}
    SELECT CASE WHEN {{.Resource "NEW"}} <> {{.Resource "OLD"}} THEN RAISE(ABORT, 'fencerow: delete of the old key: its mark was not kept before')
                WHEN {{.Token "NEW"}} < {{.Token "OLD"}} AND {{.Token "NEW"}} > 0 OR {{.Token "NEW"}} = {{.Token "OLD"}} AND {{.Step "NEW"}} < {{.Step "OLD"}}
                THEN RAISE(ABORT, 'fencerow: stale write to the table: another holder is newer')
                ELSE RAISE(ABORT, 'fencerow: unfenced write to the table: it moves no token forward') END;
{{- end}}
END;
-- next statement
CREATE TRIGGER {{.Trigger "_delete"}} BEFORE DELETE ON {{.Bare}} FOR EACH ROW
WHEN NOT EXISTS (SELECT 1 FROM fencerow_gate WHERE resource = {{.Resource "OLD"}}
                    AND (fence_token > COALESCE({{.Token "OLD"}}, 0) OR (fence_token = {{.Token "OLD"}} AND fence_step > {{.Step "OLD"}})))
BEGIN
{{- if .LogOnly}}
    INSERT INTO fencerow_violation (relation, operation, reason, resource, presented, stored)
    VALUES ({{.Literal}}, 'DELETE', 'delete', {{.Resource "OLD"}}, NULL, {{.Token "OLD"}});
{{- else}}
    SELECT RAISE(ABORT, 'fencerow: delete of a row: its mark was not kept before');
{{- end}}
END;
