import { option, text } from "@bunting/runtime/options";
import { jsonOption, namespaceOption } from "../shared-options.js";

const group = "Grant";

/** What `bunting grant` can print; the first word of its command line. */
export const grantTasks = ["credentials"] as const;

export const grantOptionTable = {
  namespace: namespaceOption(group),
  proxyAccount: option(
    text,
    "open-feature-operator-system/open-feature-operator-flagd-proxy",
    "The ServiceAccount of the proxy, as NAMESPACE/NAME: by default that of a proxy that the operator deploys.",
    { group, env: ["BUNTING_PROXY_ACCOUNT"] },
  ),
  json: jsonOption,
} as const;
