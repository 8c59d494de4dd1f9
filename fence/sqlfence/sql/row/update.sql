{{- /* The fence is in the WHERE clause of the write itself. The token is assigned last, for databases that assign from left
       to right. */ -}}
UPDATE {{.Table}}
   SET {{.Set}}
       {{- if .Grant}}, {{.Grant}} = {{.GrantID}}{{end}}
       {{- if .Step}}, {{.Step}} = {{.StepValue}}{{end}}
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
   AND ({{.}})
{{- end}}
