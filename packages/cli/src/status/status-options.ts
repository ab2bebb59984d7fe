import {
  choice,
  duration,
  integer,
  kubeconfigOptions,
  option,
  optionGroup,
  text,
  toggle,
} from "@bunting/runtime/options";
import { jsonOption, podPortOption, proxyLabels, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";
import { onlyChoices } from "./status-query.js";

const cluster = "Proxies in a cluster";

export const statusOptionTable = {
  ...optionGroup("Proxy", {
    address: option({
      type: text,
      default: "localhost:8016",
      short: "a",
      describe:
        "HOST:PORT or unix:PATH of a proxy's management port. Without --status=all of the proxy, the port answers on loopback only.",
      env: ["BUNTING_MANAGEMENT_ADDRESS"],
    }),
    ...connectionOptions,
    timeout: timeoutOption("Maximum wait for the answer of a proxy."),
  }),
  ...optionGroup(cluster, {
    namespace: option({
      type: text,
      default: "",
      short: "n",
      describe:
        "Namespace of the proxy's Pods. Each Pod is asked through a port-forward, which needs the verb list on pods, and get and create on pods/portforward.",
    }),
    selector: option({
      type: text,
      default: proxyLabels,
      short: "l",
      describe:
        "Label selector of the proxy's Pods. The default selects those of our manifests and of the open-feature-operator.",
    }),
    podPort: podPortOption(8016, "Management port in the Pods."),
    ...kubeconfigOptions(cluster),
  }),
  ...optionGroup("Output", {
    only: option({
      type: choice(...onlyChoices),
      default: "all",
      describe:
        "Topics in this state, those with late subscribers or refusals, or only the subscribers that are late or have left without the newest flags.",
    }),
    search: option({
      type: text,
      default: "",
      describe: "Part of the name of a topic, or of a subscriber's address, Pod or program.",
    }),
    limit: option({
      type: integer({ min: 0, max: 1_000_000 }),
      default: 50,
      describe: "Rows of each table, those that need a look first; 0 for all.",
    }),
    watch: option({
      type: toggle,
      default: false,
      short: "w",
      describe: "Repeat until Ctrl-C.",
    }),
    interval: option({
      type: duration({ minMs: 100, maxMs: 3_600_000, zero: "use a short time, such as 100ms" }),
      default: 2_000,
      describe: "Time between two repetitions of --watch.",
      env: ["BUNTING_WATCH_INTERVAL"],
    }),
  }),
  json: jsonOption,
} as const;
