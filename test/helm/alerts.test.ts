import { agentPrometheusMetrics } from "@bunting/agent/internal/management/prometheus-metrics.js";
import { proxyMetrics } from "@bunting/proxy/internal/proxy-metrics.js";
import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { alertsIn, testAlerts, type AlertCase, type Rules, type Series } from "./support/alert-tests.js";
import { one, render, root } from "./support/chart.js";
import { skipWithout } from "./support/tool.js";

const file = path.join(root, "deploy/alerts/bunting.yaml");
const alerts = alertsIn(file);

const proxy = 'namespace="b", pod="p", instance="p:8016", job="proxy"';
/** Agents of one source, each with its samples of a metric, and what their source is. */
function agentSeries(
  metrics: Readonly<Record<string, readonly string[]>>,
  uri = "proxy:8015",
  further = "",
): Series {
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([metric, agents]) =>
      agents.flatMap((samples, index) => {
        const pod = `${uri === "proxy:8015" ? "cart" : "many"}-${index}`;
        const labels = `namespace="shop", pod="${pod}", instance="${pod}:8014", job="agents", source="0"`;
        return [
          [`${metric}{${labels}${further === "" ? "" : `, ${further}`}}`, samples],
          [
            `bunting_agent_sync_source_info{${labels}, provider="grpc", uri="${uri}", selector="shop/cart"}`,
            "1x90",
          ],
        ] as const;
      }),
    ),
  );
}
const node = 'nodejs_eventloop_lag_p99_seconds{namespace="b", pod="p", instance="p:8016", job="proxy"}';
const perReason = (metric: string, reason: string): string => `${metric}{${proxy}, reason="${reason}"}`;

const cases: Readonly<Record<string, AlertCase>> = {
  BuntingProxyAbsent: {
    series: { 'up{job="something else"}': "1x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "Agents serve the flags that they have",
    never: { [`bunting_proxy_topic_topics{${proxy}, state="live"}`]: "0x90" },
  },
  BuntingProxyTopicsStale: {
    series: { [`bunting_proxy_topic_topics{${proxy}, state="stale"}`]: "3x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "p:8016 serves 3 FeatureFlags as they were last",
    never: {
      [`bunting_proxy_topic_topics{${proxy}, state="stale"}`]: "0 0 1 0 0 2x3 0x80",
      [`bunting_proxy_topic_topics{${proxy}, state="live"}`]: "9x90",
    },
  },
  BuntingProxyWatchSilent: {
    // A watch that is silent for 200 s each time, and is opened again.
    series: {
      [perReason("bunting_proxy_source_relists_total", "silent")]:
        `0x3 ${Array.from({ length: 25 }, (_, n) => `${n + 1}x3`).join(" ")}`,
    },
    firesAtMinute: 30,
    quietAtMinute: 15,
    description: "Watches of p:8016 are opened again after 200 s of silence, and fall silent again",
    never: {
      // A network that carried nothing once, and watches that end as they should.
      [perReason("bunting_proxy_source_relists_total", "silent")]: "0x10 40x80",
      [perReason("bunting_proxy_source_relists_total", "closed")]: "0+1x90",
    },
  },
  BuntingProxySourceErrors: {
    series: { [`bunting_proxy_source_errors_total{${proxy}, kind="forbidden"}`]: "0+4x90" },
    firesAtMinute: 20,
    quietAtMinute: 4,
    description: "p:8016 has had 40 errors of kind forbidden within 10 minutes.",
    never: {
      // An outage of a minute, and one error every two minutes.
      [`bunting_proxy_source_errors_total{${proxy}, kind="timeout"}`]: "0x10 8x80",
      [`bunting_proxy_source_errors_total{${proxy}, kind="forbidden"}`]: "0 0 1 1 2 2 3 3 4 4 5 5 5x80",
    },
  },
  BuntingProxyPollsTopics: {
    series: { [`bunting_proxy_source_unwatched_topics{${proxy}}`]: "7x90" },
    firesAtMinute: 11,
    quietAtMinute: 9,
    description: "p:8016 polls 7 FeatureFlags",
    never: { [`bunting_proxy_source_unwatched_topics{${proxy}}`]: "7x8 0x80" },
  },
  BuntingRemoteUnread: {
    series: { [`bunting_proxy_remote_topics{${proxy}, state="stale"}`]: "2x90" },
    firesAtMinute: 16,
    quietAtMinute: 14,
    description: "p:8016 can't read the remote flag providers of 2 FeatureFlags (stale)",
    never: {
      [`bunting_proxy_remote_topics{${proxy}, state="stale"}`]: "0x10 1x10 0x70",
      [`bunting_proxy_remote_topics{${proxy}, state="synced"}`]: "9x90",
    },
  },
  BuntingUpstreamFails: {
    series: { [perReason("bunting_proxy_upstream_failures_total", "unavailable")]: "0+4x90" },
    firesAtMinute: 20,
    quietAtMinute: 4,
    description: "p:8016 has lost or not reached an upstream 40 times within 10 minutes (unavailable).",
    never: {
      // Upstreams that are replaced one after the other, and one that is away for a minute.
      [perReason("bunting_proxy_upstream_failures_total", "unavailable")]: "0x10 3 3 6 6 9x70",
      [perReason("bunting_proxy_upstream_failures_total", "ended")]: "0x10 8x80",
    },
  },
  BuntingBackplaneAway: {
    series: { [`bunting_proxy_backplane_state{${proxy}, state="degraded"}`]: "1x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "p:8016 has had no Redis that works for 5 minutes.",
    never: {
      // A failover of minutes, and a proxy without --backplane.
      [`bunting_proxy_backplane_state{${proxy}, state="degraded"}`]: "0x10 1x3 0x80",
      [`bunting_proxy_backplane_state{${proxy}, state="connected"}`]: "0x90",
    },
  },
  BuntingBackplaneRecordsRefused: {
    series: {
      [`bunting_proxy_backplane_refused_records_total{${proxy}, code="record_unverified"}`]: "0+1x90",
    },
    firesAtMinute: 8,
    quietAtMinute: 4,
    description: "p:8016 refuses records in Redis (record_unverified)",
    never: {
      [`bunting_proxy_backplane_refused_records_total{${proxy}, code="record_malformed"}`]: "4x90",
    },
  },
  BuntingDocumentInvalid: {
    series: { [`bunting_proxy_source_invalid_documents_total{${proxy}}`]: "0x10 1x80" },
    firesAtMinute: 12,
    quietAtMinute: 9,
    description: "p:8016 serves the version before, if there is one.",
    never: { [`bunting_proxy_source_invalid_documents_total{${proxy}}`]: "4x90" },
  },
  BuntingSubscribersWaiting: {
    series: { [`bunting_proxy_topic_held_subscribers{${proxy}}`]: "2x90" },
    firesAtMinute: 16,
    quietAtMinute: 14,
    description: "2 subscribers of p:8016 have got no flags from it.",
    never: { [`bunting_proxy_topic_held_subscribers{${proxy}}`]: "100x13 0x80" },
  },
  BuntingConvergenceSlow: {
    series: {
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="2.5"}`]: "0+1x90",
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="10"}`]: "0+4x90",
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="+Inf"}`]: "0+4x90",
    },
    firesAtMinute: 15,
    quietAtMinute: 9,
    description: "Of p:8016, 99 % of the subscribers have an edit only after 9.9s or more.",
    never: {
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="2.5"}`]: "0+4x90",
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="10"}`]: "0+4x90",
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="0.99", le="+Inf"}`]: "0+4x90",
      // The last of the subscribers may be one that does not read.
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="1", le="2.5"}`]: "0x90",
      [`bunting_proxy_topic_convergence_seconds_bucket{${proxy}, share="1", le="+Inf"}`]: "0+4x90",
    },
  },
  BuntingAgentsRejectFlags: {
    series: { [`bunting_proxy_subscriber_rejected_flags{${proxy}}`]: "12x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "Agents of p:8016 reject 12 flags",
    never: { [`bunting_proxy_subscriber_rejected_flags{${proxy}}`]: "12x3 0x80" },
  },
  BuntingSubscriptionsRefused: {
    series: { [perReason("bunting_proxy_service_refusals_total", "topics_per_address")]: "0+1x90" },
    firesAtMinute: 20,
    quietAtMinute: 9,
    description: "p:8016 has refused 10 subscriptions within 10 minutes: topics_per_address.",
    never: { [perReason("bunting_proxy_service_refusals_total", "topics_per_address")]: "500x90" },
  },
  BuntingFirstFlagsQueued: {
    series: { [`bunting_proxy_subscriber_queued{${proxy}}`]: "900x90" },
    firesAtMinute: 6,
    quietAtMinute: 4,
    description: "900 streams of p:8016 wait for their turn",
    never: { [`bunting_proxy_subscriber_queued{${proxy}}`]: "9000 4000 0x80" },
  },
  BuntingSubscribersStalled: {
    series: { [`bunting_proxy_subscriber_stalled_total{${proxy}}`]: "0+1x90" },
    firesAtMinute: 20,
    quietAtMinute: 5,
    description: "p:8016 has ended 15 streams within 15 minutes",
    never: { [`bunting_proxy_subscriber_stalled_total{${proxy}}`]: "0x20 4x70" },
  },
  BuntingSubscribersLeftBehind: {
    series: { [`bunting_proxy_subscriber_left_behind{${proxy}}`]: "2x90" },
    firesAtMinute: 2,
    quietAtMinute: 0,
    description: "2 subscriptions of proxy ended within the last ten minutes without the newest flags",
    never: { [`bunting_proxy_subscriber_left_behind{${proxy}}`]: "0x90" },
  },
  BuntingNewClientsRefused: {
    series: { [`bunting_proxy_service_refuses_new_connections{${proxy}}`]: "0x2 1x20" },
    firesAtMinute: 5,
    quietAtMinute: 4,
    description: "p:8016 has refused new connections for 2 minutes",
    never: { [`bunting_proxy_service_refuses_new_connections{${proxy}}`]: "0 1 0x80" },
  },
  BuntingConnectionsEnded: {
    series: { [perReason("bunting_proxy_service_connections_ended_total", "flood")]: "0+2x90" },
    firesAtMinute: 20,
    quietAtMinute: 5,
    description: "p:8016 has ended 20 connections within 10 minutes: flood.",
    never: {
      // A node that died, and --max-connection-age.
      [perReason("bunting_proxy_service_connections_ended_total", "silent")]: "0+50x90",
      [perReason("bunting_proxy_service_connections_ended_total", "age")]: "0+50x90",
      [perReason("bunting_proxy_service_connections_ended_total", "protocol_error")]: "0x20 5x70",
    },
  },
  BuntingCertificateExpires: {
    // A week and 20 minutes after the first sample, whose time is 0.
    series: {
      [`bunting_proxy_service_tls_not_after_timestamp_seconds{${proxy}, file="certificate"}`]: "606000x90",
    },
    firesAtMinute: 21,
    quietAtMinute: 19,
    description: "certificate of p:8016 expires in 6d 23h 59m",
    never: {
      [`bunting_proxy_service_tls_not_after_timestamp_seconds{${proxy}, file="certificate"}`]: "700000x90",
    },
  },
  BuntingTlsFilesRefused: {
    series: {
      [`bunting_proxy_service_tls_reloads_total{${proxy}, file="client_ca", result="refused"}`]: "0x5 1x90",
    },
    firesAtMinute: 7,
    quietAtMinute: 4,
    description: "client_ca of p:8016 was replaced by something that can't be used",
    never: {
      [`bunting_proxy_service_tls_reloads_total{${proxy}, file="client_ca", result="used"}`]: "0+1x90",
      [`bunting_proxy_service_tls_reloads_total{${proxy}, file="client_ca", result="refused"}`]: "3x90",
    },
  },
  BuntingPeerMemoryHigh: {
    series: {
      [`bunting_proxy_service_peer_memory_bytes{${proxy}}`]: "85x90",
      [`bunting_proxy_service_peer_memory_budget_bytes{${proxy}}`]: "100x90",
    },
    firesAtMinute: 11,
    quietAtMinute: 9,
    description: "Clients of p:8016 use 85% of --peer-memory",
    never: {
      [`bunting_proxy_service_peer_memory_bytes{${proxy}}`]: "100x9 60x80",
      [`bunting_proxy_service_peer_memory_budget_bytes{${proxy}}`]: "100x90",
    },
  },
  BuntingProxyEventLoopSlow: {
    series: { [node]: "0.75x90", [`bunting_proxy_service_peer_memory_bytes{${proxy}}`]: "1x90" },
    firesAtMinute: 11,
    quietAtMinute: 9,
    description: "The event loop of p:8016 runs 750ms late",
    // Another program of node.
    never: { 'nodejs_eventloop_lag_p99_seconds{job="shop", instance="cart:9090"}': "9x90", [node]: "0.1x90" },
  },
  BuntingAgentDisconnected: {
    series: agentSeries({ bunting_agent_sync_connected: ["0x90", "1x90"] }),
    firesAtMinute: 11,
    quietAtMinute: 9,
    description: `50% of the agents with the source proxy:8015 can't reach it, are refused, or are misconfigured, and serve its flags as they were last: 1 of shop/cart in shop;`,
    never: agentSeries({ bunting_agent_sync_connected: ["1 0x8 1x80", "1x90"] }),
  },
  BuntingAgentFlagsOld: {
    series: agentSeries({ bunting_agent_sync_unconfirmed_seconds: ["0+60x90", "0x90"] }),
    firesAtMinute: 62,
    quietAtMinute: 59,
    description:
      "50% of the agents with the source proxy:8015 have not known for an hour whether its flags are the newest: 1 of shop/cart in shop;",
    never: {
      ...agentSeries({ bunting_agent_sync_unconfirmed_seconds: ["0+60x50 0x40", "0x90"] }),
      // One of many.
      ...agentSeries(
        { bunting_agent_sync_unconfirmed_seconds: ["0+60x90", ...Array<string>(10).fill("0x90")] },
        "many:8015",
      ),
    },
  },
  BuntingAgentFlagsOldSome: {
    series: agentSeries({
      bunting_agent_sync_unconfirmed_seconds: ["0+60x90", ...Array<string>(19).fill("0x90")],
    }),
    firesAtMinute: 62,
    quietAtMinute: 59,
    description:
      "5% of the agents with the source proxy:8015 have not known for an hour whether its flags are the newest: shop/cart-0 (shop/cart);",
    never: agentSeries({ bunting_agent_sync_unconfirmed_seconds: ["0+60x90", "0+60x90"] }),
  },
  BuntingAgentWithoutFlags: {
    series: agentSeries({ bunting_agent_sync_empty: ["1x90", "1x90"] }),
    firesAtMinute: 16,
    quietAtMinute: 14,
    description: "100% of the agents in shop that select shop/cart from proxy:8015 have no flags of it",
    never: agentSeries({ bunting_agent_sync_empty: ["1x13 0x80", "0x90"] }),
  },
  BuntingAgentDocumentRefused: {
    // The series is not there before the first refusal.
    series: agentSeries(
      { bunting_agent_sync_failures_total: ["_x20 1x70", "_x20 1x70", "_x90", "_x90"] },
      "proxy:8015",
      'reason="refused"',
    ),
    firesAtMinute: 22,
    quietAtMinute: 19,
    description: "50% of the agents in shop have refused a document of proxy:8015 shop/cart;",
    never: agentSeries(
      { bunting_agent_sync_failures_total: ["0+1x90"] },
      "proxy:8015",
      'reason="unavailable"',
    ),
  },
  BuntingAgentFlagsRejected: {
    series: agentSeries({ bunting_agent_store_rejected_flags: ["3x90", "0x90", "1x90", "0x90"] }),
    firesAtMinute: 11,
    quietAtMinute: 9,
    description: "50% of the agents in shop reject flags of proxy:8015 shop/cart",
    never: agentSeries({ bunting_agent_store_rejected_flags: ["3x8 0x80"] }),
  },
  BuntingAgentCopyNotWritten: {
    series: agentSeries({ bunting_agent_store_last_known_good_failures_total: ["_x20 1x70", "_x90"] }),
    firesAtMinute: 22,
    quietAtMinute: 19,
    description: "50% of the sources of agents in shop have no new copy on disk",
    never: agentSeries({ bunting_agent_store_last_known_good_failures_total: ["_x90"] }),
  },
};

describe("the alerts", () => {
  testAlerts({
    file,
    cases,
    healthy: { [`bunting_proxy_topic_topics{${proxy}, state="live"}`]: "5x90" },
    atStart: async () => {
      const [registry, agents] = [createRegistry(false), createRegistry(false)];
      proxyMetrics(registry);
      agentPrometheusMetrics(agents);
      return `${await registry.metrics()}\n${await agents.metrics()}`;
    },
  });

  describe("in the chart", () => {
    skipWithout("BUNTING_HELM");

    it("are a PrometheusRule", async () => {
      const { spec } = one(await render({ prometheusRule: { enabled: true } }), "PrometheusRule");
      expect(spec).to.deep.equal(parse(readFileSync(file, "utf8")));
    });

    it("lead to a page of one's own", async () => {
      const values = { enabled: true, runbookUrl: "https://wiki.example/flags" };
      const { groups } = one(await render({ prometheusRule: values }), "PrometheusRule").spec as Rules;
      const urls = groups.flatMap(({ rules }) => rules).map(({ annotations }) => annotations["runbook_url"]);
      expect(urls).to.deep.equal(
        alerts.map(({ alert }) => `https://wiki.example/flags#${alert.toLowerCase()}`),
      );
    });

    it("can have further labels, and be left out", async () => {
      const values = {
        enabled: true,
        alertLabels: { team: "a", severity: "page" },
        disabledAlerts: ["BuntingProxyAbsent"],
      };
      const { groups } = one(await render({ prometheusRule: values }), "PrometheusRule").spec as Rules;
      const rendered = groups.flatMap(({ rules }) => rules);
      expect(rendered.map(({ alert }) => alert)).to.deep.equal(alerts.map(({ alert }) => alert).slice(1));
      for (const { labels } of rendered) expect(labels).to.deep.equal({ team: "a", severity: "page" });
    });
  });
});
