{{- /* An update that also says exactly why it was refused, in one statement: the row is locked first, so that what is read is what the
       update is judged by. For batches, where there is no second look. */ -}}
WITH fencerow_seen AS MATERIALIZED (
    SELECT {{.Token}} AS fencerow_number, {{or .Step "0"}} AS fencerow_step, {{or .Grant "''"}} AS fencerow_grant
      FROM {{.Table}}
     WHERE {{.Match}}
       FOR NO KEY UPDATE
), fencerow_written AS (
UPDATE {{.Table}}
   SET {{.Set}}
{{- if .Grant}}
     , {{.Grant}} = {{.GrantID}}
{{- end}}
{{- if .Step}}
     , {{.Step}} = {{.StepValue}}
{{- end}}
     , {{.Token}} = {{.Number}}
  FROM fencerow_seen
 WHERE {{.Match}}
   AND {{template "admits" .}}
{{- range .Where}}
   AND ({{.}}
       )
{{- end}}
RETURNING 1
)
SELECT fencerow_number, fencerow_step, fencerow_grant, EXISTS (SELECT 1 FROM fencerow_written)
  FROM fencerow_seen
