import { option, optionGroup, port, text, textOption, toggleOption } from "@bunting/runtime";

/** The options of the agents that stand by themselves: objects of the kind Flagd. */
export const flagdOptionTable = optionGroup("Flagds", {
  flagd: toggleOption(
    "Deploys what objects of the kind Flagd ask for, in their namespaces: Deployments, Services, Ingresses and HTTPRoutes, which the operator has to be permitted to write in all of them.",
  ),
  flagdImage: option(
    text,
    "ghcr.io/bunting/bunting-agent",
    "Image of these agents, with or without a digest.",
    { env: ["FLAGD_IMAGE"] },
  ),
  flagdTag: textOption("Its tag. If empty, and the image has no digest, the operator's own version.", {
    env: ["FLAGD_TAG"],
  }),
  flagdPort: option(port, 8013, "Their port of evaluations.", { env: ["FLAGD_PORT"] }),
  flagdOfrepPort: option(port, 8016, "Their port of the OpenFeature Remote Evaluation Protocol (OFREP).", {
    env: ["FLAGD_OFREP_PORT"],
  }),
  flagdSyncPort: option(port, 8015, "Their port of flagd.sync.v1.", { env: ["FLAGD_SYNC_PORT"] }),
  flagdManagementPort: option(port, 8014, "Their port of probes and metrics.", {
    env: ["FLAGD_MANAGEMENT_PORT"],
  }),
});
