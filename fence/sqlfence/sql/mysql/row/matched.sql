{{- /* Changes nothing: the number of affected rows shows whether this connection counts those that were found. */ -}}
UPDATE {{.Table}}
   SET {{.Token}} = {{.Token}}
 WHERE {{.Match}}
