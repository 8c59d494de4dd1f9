{{- /* Raises the mark; what the row answers travels in the OK packet, as for an update. */ -}}
UPDATE {{.Table}}
   SET {{.Step}} = IF({{.Token}} < {{.Number}}, 0, {{.Step}})
     , {{.Grant}} = {{.GrantID}}
     , {{.Token}} = IF(LAST_INSERT_ID(2), {{.Number}}, NULL)
 WHERE {{.Match}}
   AND LAST_INSERT_ID(CASE WHEN {{.Token}} > {{.Number}} THEN -{{.Token}}
                       WHEN {{template "claimable" .}} THEN 1
                       ELSE 3 END) = 1
