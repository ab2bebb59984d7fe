import {
  choice,
  kubeconfigOptions,
  option,
  optionGroup,
  text,
  type OptionsOf,
  toggleOption,
  textOption,
} from "@bunting/runtime/options";
import { jsonOption, podPortOption, proxyLabels, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";
import { checkGroups } from "./finding-codes.js";

const cluster = "Cluster";

export const checkOptionTable = {
  ...optionGroup("What is checked", {
    pre: toggleOption("Check what an installation needs, before it is made.", { env: ["BUNTING_CHECK_PRE"] }),
    only: option(choice("all", ...checkGroups), "all", "Group of checks to make.", {
      env: ["BUNTING_CHECK_ONLY"],
    }),
  }),
  ...optionGroup(cluster, {
    namespace: option(text, "bunting-system", "Namespace of the operator and of the proxy.", { short: "n" }),
    ...kubeconfigOptions(cluster),
  }),
  ...optionGroup("Proxy", {
    proxy: textOption(
      "HOST:PORT or unix:PATH of a proxy's management port. Without it, each Pod of the proxy is asked through a port-forward, which needs the verb list on pods, and get and create on pods/portforward.",
      { short: "a", env: ["BUNTING_MANAGEMENT_ADDRESS"] },
    ),
    sync: textOption(
      "HOST:PORT or unix:PATH of the sync port beside --proxy. The default is port 8015 of the same host.",
      { env: ["BUNTING_SYNC_ADDRESS"] },
    ),
    selector: option(text, proxyLabels, "Label selector of the proxy's Pods.", { short: "l" }),
    podPort: podPortOption(8016, "Management port in the Pods."),
    syncPodPort: podPortOption(8015, "Sync port in the Pods."),
    ...connectionOptions,
    managementTls: toggleOption(
      "Use TLS and the token for the management port as well, as for the sync port.",
    ),
    timeout: timeoutOption("Maximum wait for each answer of a proxy."),
  }),
  json: jsonOption,
} as const;

export type ClusterCheckOptions = OptionsOf<typeof checkOptionTable>;
