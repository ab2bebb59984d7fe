import { allowedHosts, hostForms } from "@bunting/outbound";
import { option, optionGroup, text, toggle } from "@bunting/runtime";

/** Options of extensions. */
export const extensionsOptionTable = optionGroup("Extensions", {
  extensions: option({
    type: toggle,
    default: false,
    describe:
      "Asks the services that objects of the kind Extension name, before sidecars, the proxy and Flagds are made or changed, and when FeatureFlags are written. The operator has to be permitted to watch Extensions.",
  }),
  extensionHosts: option({
    type: allowedHosts,
    default: [] as readonly string[],
    describe: `Hosts that Extensions may name by url: ${hostForms("hooks.example.com")}. If empty, only Services of the cluster are asked.`,
  }),
  extensionTokenFile: option({
    type: text,
    default: "",
    describe:
      "File of the token that extensions are shown, of the operator's ServiceAccount with the audience bunting-extension. If empty, they are shown none.",
  }),
});
