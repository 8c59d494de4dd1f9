{{- /* The fence is in the WHERE clause of the write itself. The token is assigned last, for databases that assign from left
       to right. */ -}}
UPDATE {{.Table}}
   SET {{.Set}}
       {{- if .Grant}}, {{.Grant}} = {{.Arg .GrantID}}{{end}}
       {{- if .Step}}, {{.Step}} = {{.Arg .StepValue}}{{end}}
     , {{.Token}} = {{.Arg .Number}}
 WHERE {{.Match}}
   AND {{if .Grant -}}
       {{.Token}} = {{.Arg .Number}} AND {{.Grant}} = {{.Arg .GrantID}} AND {{.Step}} < {{.Arg .StepValue}}
       {{- else if .Step -}}
       ({{.Token}} < {{.Arg .Number}} OR ({{.Token}} = {{.Arg .Number}} AND {{.Step}} < {{.Arg .StepValue}}))
       {{- else if .NotOlder -}}
       {{.Token}} <= {{.Arg .Number}}
       {{- else -}}
       {{.Token}} < {{.Arg .Number}}
       {{- end}}
{{- range .Where}}
   AND ({{.}})
{{- end}}
