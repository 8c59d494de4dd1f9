{{define "violation"}}
{{- if .LogOnly}}        INSERT INTO fencerow_violation (relation, operation, reason, resource, presented, stored)
        VALUES ({{.Literal}}, TG_OP, reason, resource, presented, stored);
{{- else}}        RAISE EXCEPTION USING ERRCODE = 'FE001', MESSAGE = CASE reason
            WHEN 'stale' THEN format('fencerow: stale write to %s: token %s is below %s', resource, presented, stored)
            WHEN 'delete' THEN format('fencerow: delete of %s: its mark was not kept before', resource)
            WHEN 'truncate' THEN format('fencerow: truncate of %s: it would forget the marks', {{.Literal}})
            ELSE format('fencerow: unfenced write to %s: it moves no token forward', resource) END;
{{- end}}
{{- end}}
{{define "triggers" -}}
-- next statement
CREATE TRIGGER {{.Trigger "_rows"}} BEFORE INSERT OR UPDATE OR DELETE ON {{.Table}}
   FOR EACH ROW EXECUTE FUNCTION {{.Function}}();
-- next statement
CREATE TRIGGER {{.Trigger "_truncate"}} BEFORE TRUNCATE ON {{.Table}}
   FOR EACH STATEMENT EXECUTE FUNCTION {{.Function}}();
-- next statement
ALTER TABLE {{.Table}} ENABLE ALWAYS TRIGGER {{.Trigger "_rows"}};
-- next statement
ALTER TABLE {{.Table}} ENABLE ALWAYS TRIGGER {{.Trigger "_truncate"}};
{{- end}}
