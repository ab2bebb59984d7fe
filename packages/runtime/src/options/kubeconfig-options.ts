import { optionGroup, textOption, type OptionSpec } from "./option.js";

/** The options that say which cluster a command works with, and as what user, under this heading. */
export function kubeconfigOptions(group: string): {
  readonly kubeconfig: OptionSpec<string>;
  readonly kubeContext: OptionSpec<string>;
} {
  return optionGroup(group, {
    kubeconfig: textOption(
      "Kubeconfig file for the cluster; if not given, the Pod's ServiceAccount, else KUBECONFIG, else ~/.kube/config.",
    ),
    kubeContext: textOption("Context of the kubeconfig; if not given, its current-context."),
  });
}

/** The option that says where a Pod's ServiceAccount is found, under this heading. `purpose` says what it is used for, if not for all. */
export function serviceAccountOption(
  group: string,
  purpose = "",
): { readonly serviceAccountDirectory: OptionSpec<string> } {
  const describe = `Directory with token and ca.crt of the Pod's ServiceAccount${purpose}; if not given, /var/run/secrets/kubernetes.io/serviceaccount.`;
  return optionGroup(group, { serviceAccountDirectory: textOption(describe) });
}
