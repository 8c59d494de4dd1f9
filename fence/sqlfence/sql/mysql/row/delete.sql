DELETE FROM {{.Table}}
 WHERE {{.Match}}
   AND {{template "admits" .}}
{{- range .Where}}
   AND ({{.}}
       )
{{- end}}
