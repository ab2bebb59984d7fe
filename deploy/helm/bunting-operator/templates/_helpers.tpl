{{- define "bunting-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 51 | trimAll "-." -}}
{{- end -}}
{{- end -}}

{{- define "bunting-operator.namespace" -}}
{{- if and .Values.defaultNamespace (eq .Release.Namespace "default") -}}
{{- .Values.defaultNamespace -}}
{{- else -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* Names of objects outside of the operator's namespace, which must not be those of another release. */}}
{{- define "bunting-operator.wideName" -}}
{{- $name := include "bunting-operator.fullname" . -}}
{{- $namespace := include "bunting-operator.namespace" . -}}
{{- ternary $name (printf "%s-%s" $namespace $name) (has $namespace (list "bunting-system" "open-feature-operator-system")) -}}
{{- end -}}

{{- define "bunting-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "bunting-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: name the ServiceAccount to use, because serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "bunting-operator.proxyServiceAccountName" -}}
{{- if .Values.proxyServiceAccount.create -}}
{{- default (printf "%s-flagd-proxy" (include "bunting-operator.fullname" .)) .Values.proxyServiceAccount.name -}}
{{- else -}}
{{- required "proxyServiceAccount.name: name the ServiceAccount to use, because proxyServiceAccount.create is false" .Values.proxyServiceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Helm allows dots in names of releases, and Kubernetes none in those of Services. Other names keep them, so that releases keep their objects. */}}
{{- define "bunting-operator.serviceName" -}}
{{- default (include "bunting-operator.fullname" . | replace "." "-") .Values.service.name -}}
{{- end -}}

{{- define "bunting-operator.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What never changes in the life of a release: selectors of a Deployment are immutable. */}}
{{- define "bunting-operator.selectorLabels" -}}
{{- if .Values.selectorLabels -}}
{{- toYaml .Values.selectorLabels -}}
{{- else -}}
app.kubernetes.io/name: bunting-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}
{{- end -}}

{{/* The chart's labels win over those of values. */}}
{{- define "bunting-operator.labels" -}}
{{- $own := include "bunting-operator.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "bunting" -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- toYaml (merge $own (.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* Takes (list $ labels): the chart's labels, and such of values as have other names. */}}
{{- define "bunting-operator.labelsWith" -}}
{{- toYaml (merge (include "bunting-operator.labels" (index . 0) | fromYaml) (index . 1 | default dict)) -}}
{{- end -}}

{{/* Without versions: the Pods of an unchanged template stay when only the chart changes. */}}
{{- define "bunting-operator.podLabels" -}}
{{- $own := include "bunting-operator.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "bunting" -}}
{{- toYaml (merge $own (.Values.podLabels | default dict) (.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* Takes (list $ name): an option as the values have it, as a text. */}}
{{- define "bunting-operator.option" -}}
{{- get ((index . 0).Values.options | default dict) (index . 1) -}}
{{- end -}}

{{/* All options of the operator as a JSON object: those of `options`, and what the chart itself says. */}}
{{- define "bunting-operator.options" -}}
{{- $own := dict "flag-reader-role" (printf "%s-flagd-proxy" (include "bunting-operator.wideName" .)) "proxy-service-account" (include "bunting-operator.proxyServiceAccountName" .) "webhook-service" (include "bunting-operator.serviceName" .) -}}
{{- if ne (int .Values.ports.webhook) 9443 -}}
{{- $_ := set $own "webhook-port" .Values.ports.webhook -}}
{{- end -}}
{{- if ne (int .Values.ports.metrics) 8080 -}}
{{- $_ := set $own "metrics-bind-address" (printf ":%d" (int .Values.ports.metrics)) -}}
{{- end -}}
{{- if ne (int .Values.ports.health) 8081 -}}
{{- $_ := set $own "health-probe-bind-address" (printf ":%d" (int .Values.ports.health)) -}}
{{- end -}}
{{- with .Values.watchNamespaces -}}
{{- $_ := set $own "watch-namespaces" (join "," .) -}}
{{- end -}}
{{- with include "bunting-operator.podSelector" .Values.mutatingWebhook.objectSelector -}}
{{- $_ := set $own "pod-selector" . -}}
{{- end -}}
{{- if ne .Values.certificates.mode "own" -}}
{{- $_ := set $own "certificates" .Values.certificates.mode -}}
{{- $_ := set $own "webhook-cert-path" "/etc/bunting/webhook" -}}
{{- end -}}
{{- if eq (include "bunting-operator.option" (list . "extensions")) "true" -}}
{{- $_ := set $own "extension-token-file" "/var/run/secrets/bunting-extension/token" -}}
{{- end -}}
{{- merge $own (.Values.options | default dict) | toJson -}}
{{- end -}}

{{/* A label selector as Kubernetes writes it in queries: `team=shop,tier in (a,b),!old`. */}}
{{- define "bunting-operator.podSelector" -}}
{{- $terms := list -}}
{{- range $key, $value := .matchLabels -}}
{{- $terms = append $terms (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- range .matchExpressions -}}
{{- if has .operator (list "In" "NotIn") -}}
{{- $terms = append $terms (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) -}}
{{- else -}}
{{- $terms = append $terms (printf "%s%s" (ternary "!" "" (eq .operator "DoesNotExist")) .key) -}}
{{- end -}}
{{- end -}}
{{- join "," $terms -}}
{{- end -}}

{{/* The arguments of the operator as a JSON array, in the order of their names. */}}
{{- define "bunting-operator.args" -}}
{{- $args := list "start" -}}
{{- range $name, $value := include "bunting-operator.options" . | fromJson -}}
{{- $args = append $args (printf "--%s=%s" $name (include "bunting-operator.text" $value)) -}}
{{- end -}}
{{- concat $args (.Values.extraArgs | default list) | toJson -}}
{{- end -}}

{{/* YAML numbers are floats here; whole ones would be written with an exponent from a million on. */}}
{{- define "bunting-operator.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ . | int64 }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* Both configurations of webhooks of an operator of some namespaces, as it calls them itself. */}}
{{- define "bunting-operator.webhooksName" -}}
{{- printf "bunting-operator-%s" (include "bunting-operator.namespace" .) -}}
{{- end -}}

{{/* Refuses what needs more than rights in the namespaces that are named. */}}
{{- define "bunting-operator.checkServed" -}}
{{- if .Values.watchNamespaces -}}
{{- if eq (include "bunting-operator.option" (list . "agent-rollouts")) "true" -}}
{{- fail "watchNamespaces: options.agent-rollouts obeys objects of the whole cluster, which an operator of some namespaces may not read: leave one of them out" -}}
{{- end -}}
{{- if eq (include "bunting-operator.option" (list . "extensions")) "true" -}}
{{- fail "watchNamespaces: options.extensions obeys objects of the whole cluster, which an operator of some namespaces may not read: leave one of them out" -}}
{{- end -}}
{{- if .Values.rbac.keepStockBinding -}}
{{- fail "watchNamespaces: rbac.keepStockBinding keeps rights in the whole cluster: take the open-feature-operator over in all namespaces first, and name some when no Pod needs that binding" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The terms of a namespaceSelector for the namespaces that are served, as a JSON array; empty for all. */}}
{{- define "bunting-operator.servedTerms" -}}
{{- if .Values.watchNamespaces -}}
{{- list (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" .Values.watchNamespaces) | toJson -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{/* Takes (list $ scopes): the rules of a role as YAML, of what the options need. */}}
{{- define "bunting-operator.rules" -}}
{{- $root := index . 0 -}}
{{- $scopes := index . 1 -}}
{{- $serving := ternary "named" "all" (not (empty $root.Values.watchNamespaces)) -}}
{{- $table := $root.Files.Get "files/options.json" | fromJson -}}
{{- $given := merge (dict "certificates" $root.Values.certificates.mode) (include "bunting-operator.options" $root | fromJson) -}}
{{- $rules := list -}}
{{- range $root.Files.Get "files/permissions.json" | fromJsonArray -}}
{{- $isNeeded := and (has .scope $scopes) (or (not .serving) (eq (toString .serving) $serving)) -}}
{{- if .onlyIf -}}
{{- $option := .onlyIf.option -}}
{{- $value := hasKey $given $option | ternary (get $given $option | toString) (get (default dict (get $table $option)) "default") -}}
{{- $isNeeded = and $isNeeded (has $value .onlyIf.is) -}}
{{- end -}}
{{- if $isNeeded -}}
{{- $rule := dict "apiGroups" (list .apiGroup) "resources" .resources "verbs" .verbs -}}
{{- if .names -}}
{{- $names := list -}}
{{- range .names -}}
{{- $names = append $names (. | replace "{namespace}" (include "bunting-operator.namespace" $root) | replace "{flag-reader-role}" (get $given "flag-reader-role")) -}}
{{- end -}}
{{- $_ := set $rule "resourceNames" $names -}}
{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* Takes (list $ injects): the policies, which name the operator's ServiceAccount, with those that inject or without. */}}
{{- define "bunting-operator.policies" -}}
{{- $root := index . 0 -}}
{{- $injects := index . 1 -}}
{{- $user := printf "system:serviceaccount:%s:%s" (include "bunting-operator.namespace" $root) (include "bunting-operator.serviceAccountName" $root) -}}
{{- range $path, $_ := $root.Files.Glob "files/policies/*.yaml" -}}
{{- $text := $root.Files.Get $path | replace "system:serviceaccount:bunting-system:bunting-operator" $user -}}
{{- range regexSplit "(?m)^---$" $text -1 -}}
{{- $policy := fromYaml . -}}
{{- $name := $policy.metadata.name -}}
{{- $isOff := and (eq $name "inline-flags.bunting.dev") (ne (include "bunting-operator.option" (list $root "inline-flags")) "true") -}}
{{- if and (not $isOff) (or $injects (not (hasPrefix "Mutating" $policy.kind))) -}}
{{- if $root.Values.watchNamespaces -}}
{{- $namespace := include "bunting-operator.namespace" $root -}}
{{- $_ := set $policy.metadata "name" (printf "%s.%s" $name $namespace) -}}
{{- if hasSuffix "Binding" $policy.kind -}}
{{- $_ := set $policy.spec "policyName" (printf "%s.%s" $policy.spec.policyName $namespace) -}}
{{- $_ := set $policy.spec "matchResources" (dict "namespaceSelector" (dict "matchExpressions" (include "bunting-operator.servedTerms" $root | fromJsonArray))) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $policy.metadata "labels" (include "bunting-operator.labels" $root | fromYaml) }}
{{- if and $root.Values.mutatingWebhook.objectSelector (has $name (list "inject.bunting.dev" "notice.bunting.dev")) (hasKey $policy.spec "matchConstraints") }}
{{- $_ := set $policy.spec.matchConstraints "objectSelector" $root.Values.mutatingWebhook.objectSelector }}
{{- end }}
---
{{ toYaml $policy }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
