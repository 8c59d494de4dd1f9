{{- /* What the rows store, read under their locks, to give the reason of a refusal. */ -}}
SELECT {{.Token}}, {{or .Step "0"}}, {{or .Grant "''"}}
  FROM {{.Table}}
 WHERE {{.Match}}{{.Lock}}
