import {
  choice,
  duration,
  integer,
  kubeconfigOptions,
  option,
  optionGroup,
  text,
  toggleOption,
  textOption,
} from "@bunting/runtime/options";
import { jsonOption, podPortOption, proxyLabels, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";
import { onlyChoices } from "./status-query.js";

const cluster = "Proxies in a cluster";

export const statusOptionTable = {
  ...optionGroup("Proxy", {
    address: option(
      text,
      "localhost:8016",
      "HOST:PORT or unix:PATH of a proxy's management port. Without --status=all of the proxy, the port answers on loopback only.",
      { short: "a", env: ["BUNTING_MANAGEMENT_ADDRESS"] },
    ),
    ...connectionOptions,
    timeout: timeoutOption("Maximum wait for the answer of a proxy."),
  }),
  ...optionGroup(cluster, {
    namespace: textOption(
      "Namespace of the proxy's Pods. Each Pod is asked through a port-forward, which needs the verb list on pods, and get and create on pods/portforward.",
      { short: "n" },
    ),
    selector: option(
      text,
      proxyLabels,
      "Label selector of the proxy's Pods. The default selects those of our manifests and of the open-feature-operator.",
      { short: "l" },
    ),
    podPort: podPortOption(8016, "Management port in the Pods."),
    ...kubeconfigOptions(cluster),
  }),
  ...optionGroup("Output", {
    only: option(
      choice(...onlyChoices),
      "all",
      "Topics in this state, those with late subscribers or refusals, or only the subscribers that are late or have left without the newest flags.",
    ),
    search: textOption("Part of the name of a topic, or of a subscriber's address, Pod or program."),
    limit: option(
      integer({ min: 0, max: 1_000_000 }),
      50,
      "Rows of each table, those that need a look first; 0 for all.",
    ),
    watch: toggleOption("Repeat until Ctrl-C.", { short: "w" }),
    interval: option(
      duration({ minMs: 100, maxMs: 3_600_000, zero: "use a short time, such as 100ms" }),
      2_000,
      "Time between two repetitions of --watch.",
      { env: ["BUNTING_WATCH_INTERVAL"] },
    ),
  }),
  json: jsonOption,
} as const;
