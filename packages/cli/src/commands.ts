import { command, type Command } from "./command.js";
import { checkOptionTable } from "./check/check-options.js";
import { shells } from "./completion/shells.js";
import { diffOptionTable } from "./diff/diff-options.js";
import { evalOptionTable } from "./evaluate/eval-options.js";
import { grantOptionTable, grantTasks } from "./grant/grant-options.js";
import { extensionOptionTable, extensionTasks } from "./extension/extension-options.js";
import { lintOptionTable } from "./lint/lint-options.js";
import { operatorTaskOptions, operatorTasks } from "./operator/operator-options.js";
import { rolloutOptionTable, rolloutTasks } from "./rollout/rollout-options.js";
import { statusOptionTable } from "./status/status-options.js";
import { tailOptionTable } from "./tail/tail-options.js";

export const commands: readonly Command[] = [
  command({
    name: "lint",
    summary: "check flags, FeatureFlagSources, and the annotations of Pods in files",
    words: "FILE…",
    describe:
      "Checks FeatureFlag manifests and flagd files, in YAML or JSON, with the reader of the proxy and the parser of the agents; FeatureFlagSources, and the annotations of Pods and of the templates of workloads. FILE is a file, a directory with its subdirectories, or - for the standard input. Files of a directory that hold none of these are skipped.",
    table: lintOptionTable,
    examples: {
      "bunting lint deploy/flags": "Check all files of a directory.",
      "bunting lint --fail-on=error flags.yaml": "Exit with 1 for errors only.",
      "kubectl get featureflags -o yaml | bunting lint -": "Check what is in a cluster.",
    },
    epilogue:
      "Exit code: 0 without findings, or with remarks only, 1 with findings, 2 if a file can't be read or the command line is wrong.",
    load: async () => ({ run: (await import("./lint/run-lint.js")).runLint }),
  }),
  command({
    name: "eval",
    summary: "evaluate a flag of a file, a proxy or an agent, and show the branch that its rule took",
    words: "FILE KEY",
    describe:
      "Evaluates a flag of a FeatureFlag manifest or a flagd file with the agent's evaluator. Shows the operators of the rule that were evaluated, their results, and the branch that was taken. FILE is a file, - for the standard input, proxy://HOST:PORT/NAMESPACE/NAME for the flags that a proxy serves now, or agent://HOST:PORT for the answer of an agent by OFREP; unix:PATH may stand for HOST:PORT. The way through the rule of an agent's answer comes of the flags on its sync port, and what does not agree with the answer is said.",
    table: evalOptionTable,
    examples: {
      "bunting eval flags.yaml banner": "Evaluate without a context.",
      'bunting eval flags.yaml banner -c \'{"email":"ada@example.com"}\'': "Evaluate for a user.",
      "bunting eval flags.yaml banner -t string -c @user.json": "Ask for a text, with the context of a file.",
      "bunting eval flags.yaml new-checkout --users 1000": "Count what a thousand users get.",
      "bunting eval proxy://localhost:8015/default/storefront banner": "Evaluate what a proxy serves now.",
      "bunting eval agent://localhost:8016 banner -c @user.json":
        "Ask an agent, and show the way through its rule.",
    },
    epilogue:
      "Exit code: 0 if the flag has a value or applications use the default in their code, 1 if the answer is an error or an agent answers otherwise than its flags, 2 if the file, the server or the flag does not exist or the command line is wrong.",
    load: async () => ({ run: (await import("./evaluate/run-eval.js")).runEval }),
  }),
  command({
    name: "diff",
    summary: "show the flags that differ between files, directories or a proxy",
    words: "A B",
    describe:
      "Shows the flags that were added, removed or changed in meaning from A to B. A and B are each a file, a directory, - for the standard input, or proxy://HOST:PORT/NAMESPACE/NAME or proxy://unix:PATH/NAMESPACE/NAME for the flags that a proxy serves now. Two single documents are compared whatever their names are; of several, those with the same NAMESPACE/NAME are compared.",
    table: diffOptionTable,
    examples: {
      "bunting diff before.yaml after.yaml": "Compare two files.",
      "bunting diff flags.yaml proxy://localhost:8015/default/storefront": "Show what is not rolled out yet.",
    },
    epilogue:
      "Exit code: 0 if all flags have the same meaning, 1 if some differ, 2 if A or B can't be read or the command line is wrong.",
    load: async () => ({ run: (await import("./diff/run-diff.js")).runDiff }),
  }),
  command({
    name: "tail",
    summary: "subscribe to a FeatureFlag and print each change",
    words: "NAMESPACE/NAME",
    describe:
      "Subscribes to a FeatureFlag at a proxy, and prints each change as it arrives. The command subscribes as an agent does: it is counted as a subscriber, and shows what agents get. It uses bunting.sync.v1, or flagd.sync.v1 if the server has nothing else. A lost connection is opened again.",
    table: tailOptionTable,
    examples: {
      "bunting tail default/storefront": "Follow a FeatureFlag.",
      "bunting tail default/storefront --json --limit 1": "Print the present version as JSON, and end.",
    },
    epilogue:
      "Exit code: 0 after Ctrl-C or --limit, 2 if the server serves no flags or the command line is wrong.",
    load: async () => ({ run: (await import("./tail/run-tail.js")).runTail }),
  }),
  command({
    name: "status",
    summary: "show topics, versions and subscribers of a proxy",
    words: "",
    describe:
      "Shows the status of a proxy, or of all its replicas in a namespace: topics with their versions and subscribers, subscribers that are behind, and flags that agents refuse.",
    table: statusOptionTable,
    examples: {
      "bunting status --watch": "Show the proxy on this machine, again and again.",
      "bunting status -n bunting-system": "Ask every replica in a namespace of the cluster.",
    },
    epilogue:
      "Exit code: 0 if every proxy is ready, and after Ctrl-C; 1 if a proxy is not ready; 2 if a proxy can't be asked or the command line is wrong.",
    load: async () => ({ run: (await import("./status/run-status.js")).runStatus }),
  }),
  command({
    name: "rollout",
    summary: "show how far a new version of a FeatureFlag is, and pause, resume or abort it",
    words: "status|pause|resume|abort NAMESPACE/NAME",
    word: { name: "task", choices: rolloutTasks },
    describe:
      "Works on a FeatureFlag with spec.rollout, whose new versions go to some agents first. status says how far the newest is, and why it does not go on. pause has no further wave begin. resume ends a pause, takes an abort back, and has a halted rollout go on: what agents refuse by then is forgiven. abort gives the newest version up: agents that have it get the version before. All need the verb get on featureflags, and all but status patch.",
    table: rolloutOptionTable,
    examples: {
      "bunting rollout status shop/checkout": "Show how far the newest version is.",
      "bunting rollout abort shop/checkout": "Take it back from those who have it.",
    },
    epilogue:
      "Exit code: 0, 1 if status finds the rollout halted or aborted, 2 if the cluster can't be asked, there is nothing to do, or the command line is wrong.",
    load: async () => ({ run: (await import("./rollout/run-rollout.js")).runRollout }),
  }),
  command({
    name: "grant",
    summary: "print the Role by which the proxy may read a Secret of a remote flag provider",
    words: "credentials NAMESPACE/NAME",
    word: { name: "task", choices: grantTasks },
    describe:
      "Prints what the owner of a namespace applies so that the proxy can read one Secret, which a FeatureFlag's spec.remoteFlagProvider names: a Role for that Secret alone, and its RoleBinding. It asks no cluster, and changes nothing. The proxy sends what the Secret holds to no host but the one that its annotation bunting.dev/host names.",
    table: grantOptionTable,
    examples: {
      "bunting grant credentials shop/flag-service | kubectl apply -f -":
        "Let the proxy that the operator deploys read it.",
    },
    epilogue: "Exit code: 0, or 2 if the command line is wrong.",
    load: async () => ({ run: (await import("./grant/run-grant.js")).runGrant }),
  }),
  command({
    name: "check",
    summary: "check whether a cluster is ready for Bunting, or whether an installation is right",
    words: "",
    describe:
      "Checks an installation: resource types, rights, admission, the operator, proxies, FeatureFlagSources, Pods without flags, and topics. With --pre it checks what an installation needs, before it is made. Each finding says what is wrong, where, and what to do. A check that can't be made, mostly for want of a right, says so and does not pass.",
    table: checkOptionTable,
    examples: {
      "bunting check --pre": "Before an installation: look for what stands in its way.",
      "bunting check": "Check the installation in bunting-system.",
      "bunting check -n flags --only proxy --ca-file ca.crt --token-file token":
        "Check the proxies of another namespace, which have TLS and want tokens.",
      "bunting check --proxy localhost:8016 --json":
        "Ask a proxy at an address, and print the result as JSON.",
    },
    epilogue:
      "Exit code: 0 if no check failed, even with warnings, 1 if one failed, 2 if one could not be made and none failed, or the command line is wrong.",
    load: async () => ({ run: (await import("./check/run-check.js")).runCheck }),
  }),
  command({
    name: "operator",
    summary: "explain why a Pod has flags or not, and prepare a take-over",
    words: "explain pod|deployment NAMESPACE/NAME | render FILE | migrate check",
    word: { name: "task", choices: operatorTasks },
    describe:
      "Asks a cluster about the operator's work. explain says why a Pod, or the newest Pod of a Deployment, has a sidecar or has none, and ends with what to do. render shows what a Pod, or a Pod of the workload in FILE, would get: it is created in a dry run, and nothing is written. migrate check says what a take-over of the open-feature-operator meets, and with --back what is lost on the way back.",
    table: operatorTaskOptions,
    examples: {
      "bunting operator explain pod shop/checkout-0": "Say why a Pod has flags or none.",
      "bunting operator explain deployment shop/checkout -o json":
        "Say it of the newest Pod of a Deployment, as JSON.",
      "bunting operator render deployment.yaml": "Show what its Pods would get.",
      "bunting operator migrate check": "Look for what blocks a take-over.",
    },
    epilogue:
      "Exit code: 0 if nothing is wrong, 1 if something is to be done, 2 if the cluster can't be asked or the command line is wrong.",
    load: async () => ({ run: (await import("./operator/run-operator.js")).runOperator }),
  }),
  command({
    name: "extension",
    summary: "test an extension of the operator",
    words: "test URL",
    word: { name: "task", choices: extensionTasks },
    describe:
      "Asks an extension at an address what an operator would ask it, and checks its answers: that they are of the protocol, the same for the same question, settle, and change nothing that they may not. Nothing is written to a cluster.",
    table: extensionOptionTable,
    examples: {
      "bunting extension test http://localhost:8080": "Ask about all objects.",
      "bunting extension test http://localhost:8080 --target Sidecar -n shop-pro -c '{\"scrape\":true}'":
        "Ask about the sidecar of a namespace, with the configuration of an application.",
    },
    epilogue:
      "Exit code: 0 if no check failed, even with remarks, 1 if one failed, 2 if the command line or a file is wrong.",
    load: async () => ({ run: (await import("./extension/run-extension.js")).runExtension }),
  }),
  command({
    name: "completion",
    summary: "print a script that completes commands, options and values in a shell",
    words: shells.join("|"),
    word: { name: "shell", choices: shells },
    describe: "Prints a script with which a shell completes commands, options and their values.",
    table: {},
    examples: {
      "source <(bunting completion bash)": "Complete in this bash; in ~/.bashrc, in all.",
      "source <(bunting completion zsh)": "Complete in zsh, after compinit.",
      "bunting completion fish | source": "Complete in fish.",
    },
    epilogue: "Exit code: 0, or 2 for an unknown shell.",
    load: async () => ({ run: (await import("./completion/run-completion.js")).runCompletion }),
  }),
];
