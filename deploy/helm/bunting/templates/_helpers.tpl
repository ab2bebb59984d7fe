{{- define "bunting.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $base := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- /* Helm allows dots in names of releases, and Kubernetes none in those of Services. */}}
{{- printf "%s-proxy" ($base | replace "." "-" | trunc 57 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "bunting.replicas" -}}
{{- hasKey .Values "replicaCount" | ternary .Values.replicaCount .Values.replicas -}}
{{- end -}}

{{- define "bunting.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "bunting.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: name the ServiceAccount to use, because serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "bunting.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What never changes in the life of a release: selectors of a Deployment are immutable. */}}
{{- define "bunting.selectorLabels" -}}
app.kubernetes.io/name: bunting-proxy
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Takes (list $ labels): the chart's labels win over those of values. */}}
{{- define "bunting.labels" -}}
{{- $root := index . 0 -}}
{{- $own := include "bunting.selectorLabels" $root | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "bunting" -}}
{{- $_ := set $own "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- toYaml (merge $own (index . 1 | default dict) ($root.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* Without versions: the Pods of an unchanged template stay when only the chart changes. */}}
{{- define "bunting.podLabels" -}}
{{- $own := include "bunting.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "bunting" -}}
{{- toYaml (merge $own (.Values.podLabels | default dict) (.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* `off` and `on` without quotes are booleans in YAML. */}}
{{- define "bunting.switch" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}{{ else }}{{ default "off" . }}{{ end -}}
{{- end -}}

{{- define "bunting.tlsSecretName" -}}
{{- $tls := .Values.tls -}}
{{- $made := ternary (printf "%s-tls" (include "bunting.fullname" .)) "" (ne $tls.certManager.issuerRef.name "") -}}
{{- default $made $tls.secretName -}}
{{- end -}}

{{/* All options of the proxy as a JSON object: those of `options`, and what `tls` and `auth` say beyond the defaults. */}}
{{- define "bunting.options" -}}
{{- $tls := .Values.tls -}}
{{- $auth := .Values.auth -}}
{{- $given := .Values.options | default dict -}}
{{- $mode := include "bunting.switch" $tls.mode -}}
{{- $management := include "bunting.switch" $tls.management -}}
{{- $clients := include "bunting.switch" $tls.clients.auth -}}
{{- $all := dict "tls" $mode "management-tls" $management "tls-client-auth" $clients -}}
{{- $all = merge $all (dict "auth" $auth.mode "authorize" $auth.authorize "token-review" $auth.tokenReview "auth-audience" $auth.audience "management-auth" (include "bunting.switch" $auth.management)) -}}
{{- $table := .Files.Get "files/options.json" | fromJson -}}
{{- $chosen := dict -}}
{{- range $name, $value := $all -}}
{{- if ne (toString $value) (toString (default "false" (index $table $name).default)) -}}
{{- $_ := set $chosen $name $value -}}
{{- end -}}
{{- end -}}
{{- if or (ne $mode "off") (ne $management "off") -}}
{{- if not (include "bunting.tlsSecretName" .) -}}
{{- fail "tls: name the Secret with the certificate (secretName), or the issuer that makes it (certManager.issuerRef.name)" -}}
{{- end -}}
{{- $_ := set $chosen "tls-cert-path" "/etc/bunting/tls/tls.crt" -}}
{{- $_ := set $chosen "tls-key-path" "/etc/bunting/tls/tls.key" -}}
{{- else if or (include "bunting.tlsSecretName" .) (ne $clients "off") -}}
{{- fail "tls: a certificate or clients.auth has no effect while mode and management are off" -}}
{{- end -}}
{{- if ne $clients "off" -}}
{{- $_ := set $chosen "tls-client-ca-path" (printf "/etc/bunting/%s/ca.crt" (ternary "client-ca" "tls" (ne $tls.clients.caSecretName ""))) -}}
{{- else if $tls.clients.caSecretName -}}
{{- fail "tls.clients.caSecretName has no effect while tls.clients.auth is off" -}}
{{- end -}}
{{- range $name, $value := $chosen -}}
{{- if hasKey $given $name -}}
{{- fail (printf "options.%s: the values `tls` and `auth` set that option as well; leave one of the two out" $name) -}}
{{- end -}}
{{- end -}}
{{- merge $chosen $given | toJson -}}
{{- end -}}

{{/* TLS of the management port: off, on or both. */}}
{{- define "bunting.managementTls" -}}
{{- get (include "bunting.options" . | fromJson) "management-tls" | default "off" -}}
{{- end -}}

{{/* An endpoint of a monitor; takes (list $ monitor). */}}
{{- define "bunting.monitorEndpoint" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
{{- $endpoint := dict "port" "management" "path" "/metrics" "interval" $monitor.interval -}}
{{- if ne (include "bunting.managementTls" $root) "off" -}}
{{- $_ := set $endpoint "scheme" "https" -}}
{{- $tls := dict "serverName" (printf "%s.%s.svc" (include "bunting.fullname" $root) $root.Release.Namespace) -}}
{{- with include "bunting.tlsSecretName" $root -}}
{{- $_ := set $tls "ca" (dict "secret" (dict "name" . "key" "ca.crt")) -}}
{{- end -}}
{{- $_ := set $endpoint "tlsConfig" $tls -}}
{{- end -}}
{{- toYaml (list (merge (deepCopy ($monitor.endpoint | default dict)) $endpoint)) -}}
{{- end -}}

{{/* The arguments of the proxy as a JSON array; options in the order of their names, each value checked. */}}
{{- define "bunting.args" -}}
{{- $table := .Files.Get "files/options.json" | fromJson -}}
{{- $args := list "start" -}}
{{- range $name, $value := include "bunting.options" . | fromJson -}}
{{- $text := include "bunting.optionText" (dict "name" $name "value" $value "option" (get $table $name)) -}}
{{- $args = append $args (printf "--%s=%s" $name $text) -}}
{{- end -}}
{{- concat $args (.Values.extraArgs | default list) | toJson -}}
{{- end -}}

{{/* YAML numbers are floats here, and would be written with an exponent from a million on. */}}
{{- define "bunting.optionText" -}}
{{- $text := toString .value -}}
{{- if kindIs "float64" .value }}{{ $text = .value | int64 | toString }}{{ end -}}
{{- if eq .option.placeholder "duration" -}}
{{- include "bunting.checkDuration" (dict "name" .name "text" $text "option" .option) -}}
{{- else if and (eq .option.placeholder "bytes") (not (regexMatch "^(auto|[0-9]+(\\.[0-9]+)?(Gi|Mi|Ki|G|M|k)?)$" $text)) -}}
{{- fail (printf "options.%s: expected bytes such as 64Mi, from %s, got %q" .name .option.range $text) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* The proxy would refuse the same, but only once its Pods start. */}}
{{- define "bunting.checkDuration" -}}
{{- if not (regexMatch "^(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h))+$" .text) -}}
{{- fail (printf "options.%s: expected a duration such as 300ms, 5s or 1m30s, got %q" .name .text) -}}
{{- end -}}
{{- $isOff := and .option.allowsZero (regexMatch "^[^1-9]+$" .text) -}}
{{- $ms := include "bunting.milliseconds" .text | int64 -}}
{{- if not (or $isOff (and (ge $ms (int64 .option.minMs)) (le $ms (int64 .option.maxMs)))) -}}
{{- fail (printf "options.%s: expected a duration from %s, got %q" .name .option.range .text) -}}
{{- end -}}
{{- end -}}

{{/* Of a duration as Go writes it. Templates can't parse one, but can add one to a date. */}}
{{- define "bunting.milliseconds" -}}
{{- (dateModify (printf "+%s" .) (toDate "2006-01-02" "1970-01-01")).UnixMilli -}}
{{- end -}}

{{/* Takes (list $ name): what the option will be, in milliseconds. */}}
{{- define "bunting.durationOption" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $default := (index ($root.Files.Get "files/options.json" | fromJson) $name).default -}}
{{- $given := $root.Values.options | default dict -}}
{{- include "bunting.milliseconds" (ternary (get $given $name) $default (hasKey $given $name) | toString) -}}
{{- end -}}

{{- define "bunting.terminationGracePeriodSeconds" -}}
{{- $drainMs := add (include "bunting.durationOption" (list . "drain-delay")) (include "bunting.durationOption" (list . "drain-window")) -}}
{{- $neededSeconds := add1 (divf $drainMs 1000 | ceil) -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}
{{- add $neededSeconds 6 -}}
{{- else if lt (int64 $given) (int64 $neededSeconds) -}}
{{- fail (printf "terminationGracePeriodSeconds: %d s is too short: draining takes %d s with these drain-delay and drain-window" (int64 $given) (int64 $neededSeconds)) -}}
{{- else -}}
{{- int64 $given -}}
{{- end -}}
{{- end -}}
