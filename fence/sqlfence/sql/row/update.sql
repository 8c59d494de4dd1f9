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
   AND {{if .Grant -}}
       {{.Token}} = {{.Number}} AND {{.Grant}} = {{.GrantID}} AND {{.Step}} < {{.StepValue}}
       {{- else if .Step -}}
       ({{.Token}} < {{.Number}} OR ({{.Token}} = {{.Number}} AND {{.Step}} < {{.StepValue}}))
       {{- else if .NotOlder -}}
       {{.Token}} <= {{.Number}}
       {{- else -}}
       {{.Token}} < {{.Number}}
       {{- end}}
{{- range .Where}}
   AND ({{.}}
       )
{{- end}}
