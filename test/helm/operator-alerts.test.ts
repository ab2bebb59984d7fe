import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { alertsIn, testAlerts, type AlertCase, type Rules } from "./support/alert-tests.js";
import { one, operatorChartFolder, render, root, type Manifest } from "./support/chart.js";
import { skipWithout } from "./support/tool.js";

const file = path.join(root, "deploy/alerts/operator.yaml");
const alerts = alertsIn(file);

const replica = 'namespace="b", pod="o-1", instance="o-1:8080", job="operator"';
const other = 'namespace="b", pod="o-2", instance="o-2:8080", job="operator"';
const day = 86_400;

const cases: Readonly<Record<string, AlertCase>> = {
  BuntingOperatorAbsent: {
    series: { 'up{job="something else"}': "1x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "Where the API server injects sidecars by a policy",
    never: { [`bunting_operator_leader{${replica}}`]: "0x90" },
  },
  BuntingOperatorNoLeader: {
    series: {
      [`bunting_operator_leader{${replica}}`]: "0x90",
      [`bunting_operator_leader{${other}}`]: "0x90",
    },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "Edits of FeatureFlagSources are not compiled",
    never: {
      // One takes over after the other.
      [`bunting_operator_leader{${replica}}`]: "1x10 0x79",
      [`bunting_operator_leader{${other}}`]: "0x12 1x77",
    },
  },
  BuntingOperatorHeldBack: {
    series: { [`bunting_operator_held_back{${replica}}`]: "1x90" },
    firesAtMinute: 16,
    quietAtMinute: 14,
    description: "o-1:8080 leads and has written nothing for 15 minutes",
    never: { [`bunting_operator_held_back{${replica}}`]: "1x12 0x77" },
  },
  BuntingOperatorReconcilesFail: {
    series: {
      [`bunting_operator_reconcile_total{${replica}, controller="proxy", result="failed"}`]: "0+1x90",
    },
    firesAtMinute: 20,
    quietAtMinute: 5,
    description: "o-1:8080 has failed 15 times within 15 minutes in the controller proxy.",
    never: {
      [`bunting_operator_reconcile_total{${replica}, controller="proxy", result="failed"}`]: "0x20 3x69",
      [`bunting_operator_reconcile_total{${replica}, controller="proxy", result="succeeded"}`]: "0+9x90",
    },
  },
  BuntingOperatorCertificateExpires: {
    series: {
      [`bunting_operator_certificate_not_after_timestamp_seconds{${replica}, certificate="leaf"}`]: `${day}x90`,
    },
    firesAtMinute: 7,
    quietAtMinute: 4,
    description: "The leaf expires in 23h 53m 0s.",
    never: {
      [`bunting_operator_certificate_not_after_timestamp_seconds{${replica}, certificate="leaf"}`]: `${3 * day}x90`,
    },
  },
  BuntingPodsMissed: {
    series: { [`bunting_operator_missed_pods{namespace="shop", job="operator"}`]: "4x90" },
    firesAtMinute: 11,
    quietAtMinute: 9,
    description:
      "4 Pods in shop were created while neither the policy nor the webhook was there, or before their source.",
    never: { [`bunting_operator_missed_pods{namespace="shop", job="operator"}`]: "4x8 0x81" },
  },
  BuntingPodsNotInjected: {
    series: { [`bunting_operator_not_injected_total{${replica}, reason="NotFound"}`]: "0x10 3x79" },
    firesAtMinute: 13,
    quietAtMinute: 9,
    description: "3 Pods within 15 minutes, for the reason NotFound.",
    never: { [`bunting_operator_not_injected_total{${replica}, reason="NotFound"}`]: "7x90" },
  },
  BuntingOperatorDrift: {
    series: { [`bunting_operator_drift_total{${replica}, kind="Deployment", manager="argocd"}`]: "0+1x90" },
    firesAtMinute: 62,
    quietAtMinute: 5,
    description: "Fields of a Deployment have been changed 60 times within an hour by argocd.",
    never: {
      [`bunting_operator_drift_total{${replica}, kind="Deployment", manager="kubectl"}`]: "0x10 8x30 15x49",
    },
  },
  BuntingAgentRolloutHalted: {
    series: { [`bunting_operator_rollout_halted{${replica}, rollout="agents"}`]: "0x10 1x79" },
    firesAtMinute: 12,
    quietAtMinute: 10,
    description:
      "As many Pods failed as the AgentRollout agents has for its threshold. Those that were updated get their image of before back, unless it says otherwise.",
    never: { [`bunting_operator_rollout_halted{${replica}, rollout="agents"}`]: "0x90" },
  },
  BuntingFlagRolloutHalted: {
    series: { [`bunting_operator_flag_rollout_halted{${replica}, flag="shop/checkout"}`]: "_x10 1x79" },
    firesAtMinute: 12,
    quietAtMinute: 10,
    description:
      "Agents complain of the newest version of the FeatureFlag shop/checkout. Those of its wave keep what they have of it, and all others keep the version before.",
    never: { [`bunting_operator_flag_rollout_halted{${replica}, flag="shop/checkout"}`]: "0x90" },
  },
  BuntingExtensionFailing: {
    series: { [`bunting_operator_extension_failing{${replica}, extension="qos"}`]: "_x10 1x79" },
    firesAtMinute: 16,
    quietAtMinute: 14,
    description:
      "The Extension qos does not answer, or answers what it may not. With failurePolicy Fail, nothing that it is asked about is made or changed meanwhile.",
    never: { [`bunting_operator_extension_failing{${replica}, extension="qos"}`]: "0x10 1x3 0x75" },
  },
};

describe("the alerts on the operator", () => {
  testAlerts({
    file,
    cases,
    healthy: { [`bunting_operator_leader{${replica.replace("o-1", "o-3")}}`]: "1x90" },
    atStart: () => {
      const registry = createRegistry(false);
      operatorMetrics(registry);
      return registry.metrics();
    },
  });

  describe("in the operator's chart", () => {
    skipWithout("BUNTING_HELM");
    const rendered = (values: unknown): Promise<Manifest[]> =>
      render(values, "bunting-operator", "bunting-system", operatorChartFolder);

    it("are a PrometheusRule, and the metrics are found by a PodMonitor that keeps their namespaces", async () => {
      const manifests = await rendered({ prometheusRule: { enabled: true }, podMonitor: { enabled: true } });
      expect(one(manifests, "PrometheusRule").spec).to.deep.equal(parse(readFileSync(file, "utf8")));
      expect(one(manifests, "PodMonitor").spec).to.deep.include({
        podMetricsEndpoints: [
          { port: "metrics-server", path: "/metrics", interval: "30s", honorLabels: true },
        ],
      });
    });

    it("are not there by default", async () => {
      const kinds = (await rendered({})).map(({ kind }) => kind);
      expect(kinds).to.not.include.oneOf(["PrometheusRule", "PodMonitor"]);
    });

    it("can have further labels and a page of one's own, and be left out", async () => {
      const values = {
        enabled: true,
        alertLabels: { team: "a" },
        disabledAlerts: ["BuntingOperatorAbsent"],
        runbookUrl: "https://wiki.example/flags",
      };
      const { groups } = one(await rendered({ prometheusRule: values }), "PrometheusRule").spec as Rules;
      const rules = groups.flatMap((group) => group.rules);
      expect(rules.map(({ alert }) => alert)).to.deep.equal(alerts.map(({ alert }) => alert).slice(1));
      for (const { alert, labels, annotations } of rules) {
        expect(labels["team"]).to.equal("a");
        expect(annotations["runbook_url"]).to.equal(`https://wiki.example/flags#${alert.toLowerCase()}`);
      }
    });
  });
});
