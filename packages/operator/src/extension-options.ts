import { list, option, optionGroup, text, toggle } from "@bunting/runtime";

/** Options of extensions. */
export const extensionsOptionTable = optionGroup("Extensions", {
  extensions: option({
    type: toggle,
    default: false,
    describe:
      "Asks the services that objects of the kind Extension name, before sidecars, the proxy and Flagds are made or changed, and when FeatureFlags are written. The operator has to be permitted to watch Extensions.",
  }),
  extensionHosts: option({
    type: list,
    default: [] as readonly string[],
    describe:
      "Hosts that Extensions may name by url: hooks.example.com, hooks.example.com:8443, *.example.com, http://hooks.example.com for one without TLS, and any of these with =10.0.0.0/8 after it for one whose addresses are not public. If empty, only Services of the cluster are asked.",
  }),
  extensionTokenFile: option({
    type: text,
    default: "",
    describe:
      "File of the token that extensions are shown, of the operator's ServiceAccount with the audience bunting-extension. If empty, they are shown none.",
  }),
});
