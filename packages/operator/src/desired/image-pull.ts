import { agentRolloutApiVersion } from "../api/agent-rollout.js";
import { imagePullLabel } from "../api/names.js";
import type { DesiredObject } from "./desired-object.js";
import { textDigest } from "./entry-digest.js";
import { imageUser } from "./sidecar-container.js";
import { unlessEmpty } from "./unless-empty.js";

/** What a node is to pull, and for whom. */
export interface ImagePull {
  readonly namespace: string;
  readonly rollout: { readonly name: string; readonly uid: string };
  readonly node: string;
  readonly image: string;
  /** Names of Secrets of the namespace. */
  readonly pullSecrets: readonly string[];
  /** OpenShift chooses the users of a namespace itself. */
  readonly choosesUser: boolean;
}

/**
 * A Pod that has a node pull an image: it shows the image's help, which our agent has as flagd, and ends. It is put on the node by name, so that no taint
 * and no scheduler is in the way. The ValidatingAdmissionPolicy `operator-pulls.bunting.dev` lets the operator create no other Pods than such.
 */
export function imagePull(pull: ImagePull): DesiredObject {
  const { namespace, rollout, node, image, pullSecrets, choosesUser } = pull;
  const id = textDigest(JSON.stringify([rollout.uid, node, image]));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `bunting-pull-${id}`,
      namespace,
      // A mesh would add containers that never end.
      labels: { [imagePullLabel]: rollout.uid, "sidecar.istio.io/inject": "false" },
      annotations: {
        "linkerd.io/inject": "disabled",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
      },
      ownerReferences: [{ apiVersion: agentRolloutApiVersion, kind: "AgentRollout", ...rollout }],
    },
    spec: {
      nodeName: node,
      restartPolicy: "Never",
      tolerations: [{ operator: "Exists" }],
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      ...unlessEmpty({ imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
      securityContext: {
        runAsNonRoot: true,
        ...(choosesUser ? imageUser : {}),
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "image",
          image,
          args: ["start", "--help"],
          imagePullPolicy: "IfNotPresent",
          resources: { requests: { cpu: "1m", memory: "16Mi" }, limits: { memory: "128Mi" } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
    },
  };
}
