import { option, optionGroup, type OptionSpec } from "./option.js";
import { text } from "./value-types.js";

/** The options that say which cluster a command works with, and as what user, under this heading. */
export function kubeconfigOptions(group: string): {
  readonly kubeconfig: OptionSpec<string>;
  readonly kubeContext: OptionSpec<string>;
} {
  return optionGroup(group, {
    kubeconfig: option({
      type: text,
      default: "",
      describe:
        "Kubeconfig file for the cluster; if not given, the Pod's ServiceAccount, else KUBECONFIG, else ~/.kube/config.",
    }),
    kubeContext: option({
      type: text,
      default: "",
      describe: "Context of the kubeconfig; if not given, its current-context.",
    }),
  });
}

/** The option that says where a Pod's ServiceAccount is found, under this heading. `purpose` says what it is used for, if not for all. */
export function serviceAccountOption(
  group: string,
  purpose = "",
): { readonly serviceAccountDirectory: OptionSpec<string> } {
  const describe = `Directory with token, ca.crt and namespace of the Pod's ServiceAccount${purpose}; if not given, /var/run/secrets/kubernetes.io/serviceaccount.`;
  return optionGroup(group, { serviceAccountDirectory: option({ type: text, default: "", describe }) });
}
