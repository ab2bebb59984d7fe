/**
 * Which test runs the commands of the pages: as printed, or with the ports, names, registries and limits of time of the test. Commands `$ bunting …`
 * whose output is shown are not here: test/documentation/commands.test.ts runs every one of them.
 */
export const commandRuns: Readonly<Record<string, readonly RegExp[]>> = {
  ".ci/run": [/^npm test$/],
  "test/integration/demonstration.test.ts": [/^npm start$/],
  "test/documentation/local-commands.test.ts": [
    /\| jq /,
    /^git show main:.*\| bunting diff/,
    /^bunting (lint|eval|diff|tail) /,
    /^bunting status --(watch|address localhost:8016)$/,
    /^source <\(bunting completion (bash|zsh)\)$/,
    /^bunting completion fish \| source$/,
    /^curl (-X POST )?(http:\/\/)?localhost:\d+\//,
    /^curl -X POST http:\/\/127\.0\.0\.1:8026\//,
    /^bunting-proxy start --source dir:examples\/flags &$/,
    /^bunting-agent start --sync-port /,
  ],
  "test/documentation/remote-example.test.ts": [
    /^bunting-agent start --uri file:service\.json /,
    /^bunting-agent start --remote-hosts /,
    /^bunting eval agent:\/\/localhost:8016 welcome --explain$/,
  ],
  "test/cluster/flag-rollout.test.ts": [/^bunting rollout (status|abort) shop\/checkout$/],
  "test/cluster/remote-flags.test.ts": [
    /^bunting grant credentials shop\/flag-service \| kubectl apply -f -$/,
    /^kubectl wait --for=condition=RemoteSynced featureflag\/checkout -n shop$/,
  ],
  "packages/cli/src/extension/run-extension.test.ts": [/^bunting extension test /],
  "test/helm/page-commands.test.ts": [
    /patch featureflag shop .*new-checkout/,
    /edit featureflag NAME$/,
    /^kubectl -n NAMESPACE rollout restart deployment$/,
    /^kubectl (get|wait) featureflag/,
    /create secret generic (flags-redis|bunting-proxy-backplane) /,
    /^kubectl apply -k (my-replicas|deploy\/crds|deploy\/kustomize\/secure)$/,
    /^kubectl -n \S+ set env /,
    /options\.agent-rollouts=true$/,
    /^kubectl (patch|wait) agentrollout agents /,
    /get configmap bunting-proxy-security/,
    /events --field-selector reason=SecurityWaits$/,
    /^kubectl get events --all-namespaces --field-selector reason=Missed$/,
    /^kubectl auth can-i get featureflags/,
    /create token checkout --audience bunting > token$/,
    /describe pod POD$/,
    /^kubectl get pods --all-namespaces --field-selector status\.podIP=/,
    /^bunting operator (explain|render) /,
    /^bunting operator migrate check$/,
    /^bunting check/,
    /^bunting status (-n|--namespace) /,
    /^kubectl get featureflags -o yaml \| bunting lint -$/,
    /^kubectl create namespace bunting-system --save-config/,
  ],
  "test/cluster/extension-recipes.test.ts": [
    /^kubectl create namespace bunting-extensions$/,
    /^kubectl apply -k examples\/extensions\//,
  ],
  "test/helm/gitops.test.ts": [/^kubectl apply -f examples\/gitops\//],
  "test/helm/start-pages.test.ts": [
    /^helm upgrade --install bunting(-operator)? deploy\/helm\/\S+ --namespace bunting-system --create-namespace /,
    /^kubectl apply -k examples\/application$/,
    /patch featureflag (shop|checkout) .*(new-welcome|one-click)/,
    /^kubectl create namespace shop$/,
    /^kubectl -n shop apply -f examples\/without-an-operator\//,
    /^examples\/kind\/up\.sh$/,
  ],
  "test/helm/readme.test.ts": [
    /^helm repo add openfeature /,
    /^helm upgrade (--install )?open-feature-operator openfeature\//,
  ],
  "test/helm/tls-and-auth.test.ts": [
    /create secret generic bunting-proxy-tls /,
    /^helm upgrade (--install )?bunting deploy\/helm\/bunting --namespace bunting-system .*(tls|auth)\./,
    /^kubectl create clusterrole(binding)? /,
  ],
  "test/helm/upgrade-page.test.ts": [
    /^helm upgrade bunting .*--set image\.tag=0\.2\.0$/,
    /^helm rollback bunting --namespace bunting-system$/,
  ],
  "test/helm/operator-install.test.ts": [
    /^helm template open-feature-operator /,
    /^kubectl apply --server-side --force-conflicts -f (rendered|stock)\.yaml$/,
    /^kubectl delete -k deploy\/policies$/,
  ],
  "test/node/migration.test.ts": [
    /^helm history openfeature /,
    /^helm upgrade openfeature /,
    /^kubectl -n open-feature-operator-system (rollout status|wait|delete) /,
    /^bunting operator migrate check --back$/,
    /^helm rollback openfeature /,
    /^kubectl delete injections\.bunting\.dev /,
  ],
  "test/node/helm.test.ts": [
    /^kubectl -n bunting-system rollout status deployment\/bunting-(proxy|operator)$/,
  ],
  "test/node/operator.test.ts": [/^kubectl -n shop (rollout status|logs) deployment\/shop/],
  "test/node/cli-status.test.ts": [/port-forward/],
  "test/integration/service-example.test.ts": [
    /^npx bunting-agent start --uri dir:flags$/,
    /^node (service\.mjs|--test)$/,
    /^for i in \$\(seq 100\)/,
    /^sed -i\.before /,
    /^npx bunting lint flags$/,
  ],
  "test/release/packages.test.ts": [
    /^npx bunting-agent start --uri file:flags\.yaml$/,
    /^npm install \.\.\/bunting\/release\/packages\/\*\.tgz$/,
  ],
  "test/release/release-command.test.ts": [/^npm run release -- --dry-run/],
  "test/conformance/sdk-examples.test.ts": [
    /^cd examples\/sdk && node welcome\.mjs$/,
    /^pip install openfeature-sdk/,
    /^npm init --yes$/,
    /^npm install @openfeature\//,
    /^cargo add /,
    /^go (mod init|get github\.com\/open-feature)/,
  ],
  "test/integration/health-command.test.ts": [/^\/nodejs\/bin\/node \/app\/\S+ health$/],
  "test/integration/telemetry.test.ts": [/^bunting-agent start … --otel-collector-uri /],
  "test/images/page-commands.test.ts": [
    /^docker (build|push) /,
    /^for image in agent proxy operator; do$/,
    /^done$/,
    /^skopeo inspect /,
    /^cp release\/packages\//,
  ],
  "test/images/docker-compose.test.ts": [/^docker compose -f /],
  "test/images/release.test.ts": [/^skopeo copy/, /^for name in agent proxy operator; do$/],
  "test/cluster/raise-versions.test.ts": [/^(cd test\/machinery|sed -i 's\/v0|go get k8s\.io)/],
  "test/helm/packaged.test.ts": [/^helm push release\/charts\//],
};

/**
 * Commands that their tests have not run anywhere yet, because what they take is out of reach where these tests have run so far. The tests are there, and run
 * or are skipped with the reason.
 */
export const notRunYet: Readonly<Record<string, readonly RegExp[]>> = {
  // Takes the .NET SDK and NuGet; Composer and Packagist.
  "test/conformance/sdk-examples.test.ts": [/^dotnet add /, /^composer require /],
  // Takes a release that is published: the workflow runs them then, and its test runs the workflow's script with stand-ins.
  "scripts/release-workflow.test.ts": [/^(cosign verify|npm audit signatures)/],
};
