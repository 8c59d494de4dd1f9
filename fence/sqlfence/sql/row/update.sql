{{- /* The fence is in the WHERE clause of the write itself. The token is assigned last, for databases that assign from left
       to right. The caller's own parts end with their line, so that a comment in them hides nothing of the fence. */ -}}
UPDATE {{.Table}}
   SET {{.Set}}
{{- if .Grant}}
     , {{.Grant}} = {{.GrantID}}
{{- end}}
{{- if .Step}}
     , {{.Step}} = {{.StepValue}}
{{- end}}
     , {{.Token}} = {{.Number}}
 WHERE {{.Match}}
   AND {{template "admits" .}}
{{- range .Where}}
   AND ({{.}}
       )
{{- end}}
