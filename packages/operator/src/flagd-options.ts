import { option, optionGroup, port, text, toggle } from "@bunting/runtime";

/** The options of the agents that stand by themselves: objects of the kind Flagd. */
export const flagdOptionTable = optionGroup("Flagds", {
  flagd: option({
    type: toggle,
    default: false,
    describe:
      "Deploys what objects of the kind Flagd ask for, in their namespaces: Deployments, Services, Ingresses and HTTPRoutes, which the operator has to be permitted to write in all of them.",
  }),
  flagdImage: option({
    type: text,
    default: "ghcr.io/bunting/bunting-agent",
    describe: "Image of these agents, with or without a digest.",
    env: ["FLAGD_IMAGE"],
  }),
  flagdTag: option({
    type: text,
    default: "",
    describe: "Its tag. If empty, and the image has no digest, the operator's own version.",
    env: ["FLAGD_TAG"],
  }),
  flagdPort: option({
    type: port,
    default: 8013,
    describe: "Their port of evaluations.",
    env: ["FLAGD_PORT"],
  }),
  flagdOfrepPort: option({
    type: port,
    default: 8016,
    describe: "Their port of the OpenFeature Remote Evaluation Protocol (OFREP).",
    env: ["FLAGD_OFREP_PORT"],
  }),
  flagdSyncPort: option({
    type: port,
    default: 8015,
    describe: "Their port of flagd.sync.v1.",
    env: ["FLAGD_SYNC_PORT"],
  }),
  flagdManagementPort: option({
    type: port,
    default: 8014,
    describe: "Their port of probes and metrics.",
    env: ["FLAGD_MANAGEMENT_PORT"],
  }),
});
