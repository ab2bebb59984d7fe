import { allowedHosts, hostForms } from "@bunting/outbound";
import { option, optionGroup, textOption, toggleOption } from "@bunting/runtime";

/** Options of extensions. */
export const extensionsOptionTable = optionGroup("Extensions", {
  extensions: toggleOption(
    "Asks the services that objects of the kind Extension name, before sidecars, the proxy and Flagds are made or changed, and when FeatureFlags are written. The operator has to be permitted to watch Extensions.",
  ),
  extensionHosts: option(
    allowedHosts,
    [] as readonly string[],
    `Hosts that Extensions may name by url: ${hostForms("hooks.example.com")}. If empty, only Services of the cluster are asked.`,
  ),
  extensionTokenFile: textOption(
    "File of the token that extensions are shown, of the operator's ServiceAccount with the audience bunting-extension. If empty, they are shown none.",
  ),
});
