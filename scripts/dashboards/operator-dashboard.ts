import type { Dashboard } from "./dashboard.js";
import { chosen, max, perSecond, quantile, rate, series, stat, sum } from "./queries.js";

const validFor = (labels: string): string =>
  `(${series("bunting_operator_certificate_not_after_timestamp_seconds", labels)} - time())`;
/** Its label `namespace` is that of the Pods. */
const missed = 'bunting_operator_missed_pods{pod=~"$pod"}';

export const operatorDashboard: Dashboard = {
  uid: "bunting-operator",
  title: "Bunting: the operator",
  description:
    "Whether the operator leads and keeps up, which Pods got no flags, and how its webhooks answer. docs/operate/operator.md explains the alerts.",
  variables: [
    { name: "namespace", metric: "bunting_operator_leader" },
    { name: "pod", metric: 'bunting_operator_leader{namespace=~"$namespace"}' },
  ],
  rows: [
    {
      title: "At a glance",
      panels: [
        stat("Replicas", "Replicas that are scraped.", `count(bunting_operator_leader{${chosen}})`),
        stat(
          "Leaders",
          "Replicas that lead: one, but for the seconds of a change.",
          `sum(bunting_operator_leader{${chosen}})`,
        ),
        stat(
          "Held back",
          "1 while the leader writes nothing, because another operator runs.",
          `max(bunting_operator_held_back{${chosen}})`,
          { orange: 1 },
        ),
        stat(
          "Missed Pods",
          "Running Pods that ask for flags and were given none, because neither the policy nor the webhook was there.",
          `sum(max by (namespace) (${missed})) or vector(0)`,
          { orange: 1 },
        ),
        stat(
          "Failed runs",
          "Runs of controllers that failed within 15 minutes, and are repeated.",
          `sum(increase(bunting_operator_reconcile_total{${chosen}, result="failed"}[15m])) or vector(0)`,
          { orange: 5 },
        ),
        stat(
          "Certificate",
          "The time until the first certificate of a replica expires.",
          `min(${validFor('certificate="leaf"')})`,
          { unit: "s" },
        ),
        stat(
          "Unread namespaces",
          "Namespaces that the operator is to serve, and in which it may not read.",
          `count(max by (namespace) (bunting_operator_unread_namespaces{pod=~"$pod"})) or vector(0)`,
          { orange: 1 },
        ),
      ],
    },
    {
      title: "Pods",
      panels: [
        {
          title: "Missed Pods",
          description: "By their namespace. An event on the owner of each names it.",
          unit: "short",
          orange: 1,
          queries: [{ expr: `max by (namespace) (${missed})`, legend: "{{namespace}}" }],
        },
        {
          title: "Pods without flags",
          description:
            "Pods that asked for flags and were given none, by reason: their annotation bunting.dev/not-injected has the same word.",
          unit: "reqps",
          queries: [perSecond("bunting_operator_not_injected_total", "reason", "{{reason}}")],
        },
        {
          title: "Given by the webhook, and evicted",
          description:
            "Pods that the webhook gave a sidecar or variables: those that the policy injects are not seen. Evictions are of missed Pods, by result.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_injected_total", "job", "given"),
            perSecond("bunting_operator_evictions_total", "result", "evictions: {{result}}"),
          ],
        },
      ],
    },
    {
      title: "Upgrades in place",
      panels: [
        {
          title: "Pods of AgentRollouts",
          description:
            "By rollout and what is so of them. The status of the AgentRollout says what those wait for that wait.",
          unit: "short",
          queries: [
            {
              expr: `max by (rollout, state) (${series("bunting_operator_rollout_pods")})`,
              legend: "{{rollout}}: {{state}}",
            },
          ],
        },
        {
          title: "Halted",
          description: "1 for an AgentRollout that has halted, because too many Pods failed.",
          unit: "short",
          red: 1,
          queries: [
            {
              expr: `max by (rollout) (${series("bunting_operator_rollout_halted")})`,
              legend: "{{rollout}}",
            },
          ],
        },
        {
          title: "Steps",
          description: "Of Pods, by the state that they entered; and changes that an API server refused.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_rollout_changes_total", "state", "{{state}}"),
            perSecond("bunting_operator_rollout_refusals_total", "job", "refused"),
          ],
        },
      ],
    },
    {
      title: "New versions of flags",
      panels: [
        {
          title: "Phases and waves",
          description: "That versions of FeatureFlags with spec.rollout have entered, by phase.",
          unit: "reqps",
          queries: [perSecond("bunting_operator_flag_rollout_phases_total", "phase", "{{phase}}")],
        },
        {
          title: "Halted versions",
          description: "1 for a FeatureFlag whose newest version has halted, because agents complain of it.",
          unit: "short",
          red: 1,
          queries: [max("bunting_operator_flag_rollout_halted", "flag", "{{flag}}")],
        },
      ],
    },
    {
      title: "Extensions",
      panels: [
        {
          title: "Calls",
          description: "Of extensions, by what they answered.",
          unit: "reqps",
          queries: [perSecond("bunting_operator_extension_calls_total", "answer", "{{answer}}")],
        },
        {
          title: "Failing extensions",
          description: "1 for an extension that does not answer, or answers what it may not.",
          unit: "short",
          red: 1,
          queries: [max("bunting_operator_extension_failing", "extension", "{{extension}}")],
        },
      ],
    },
    {
      title: "Webhooks",
      panels: [
        {
          title: "Reviews",
          description: "By webhook and result.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_admission_total", "webhook, result", "{{webhook}}: {{result}}"),
          ],
        },
        {
          title: "Time to answer",
          description: "From a review's headers to its answer. The API server waits 3 s.",
          unit: "s",
          red: 3,
          queries: [0.5, 0.99].map((q) => quantile(q, "bunting_operator_admission_seconds", `p${q * 100}`)),
        },
        {
          title: "Connections of API servers",
          description:
            "Handshakes of TLS by result, and requests refused because of a limit. Results `protocol` without end: an API server does not accept the certificate.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_webhook_tls_handshakes_total", "result", "{{result}}"),
            perSecond("bunting_operator_admission_requests_refused_total", "job", "refused"),
          ],
        },
        {
          title: "Certificates",
          description:
            "The time until what is in use expires. A certificate is replaced after two thirds of seven days, an authority after those of a year.",
          unit: "s",
          queries: [
            {
              expr: `min by (certificate) (${series("bunting_operator_certificate_not_after_timestamp_seconds")}) - time()`,
              legend: "{{certificate}}",
            },
          ],
        },
      ],
    },
    {
      title: "Controllers",
      panels: [
        {
          title: "Runs",
          description: "Runs of controllers that succeeded.",
          unit: "reqps",
          queries: [
            perSecond(
              "bunting_operator_reconcile_total",
              "controller",
              "{{controller}}",
              'result="succeeded"',
            ),
          ],
        },
        {
          title: "Failures",
          description:
            "Runs of controllers that failed: the log has the error, with the object, once a minute.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_reconcile_total", "controller", "{{controller}}", 'result="failed"'),
          ],
        },
        {
          title: "Waiting keys",
          description: "Objects and namespaces that wait for their controller.",
          unit: "short",
          queries: [sum("bunting_operator_queue_depth", "controller", "{{controller}}")],
        },
        {
          title: "Time of a run",
          description: "The 99th percentile, by controller: mostly that of the API server's answers.",
          unit: "s",
          queries: [
            {
              expr: `histogram_quantile(0.99, sum by (le, controller) (rate(bunting_operator_reconcile_seconds_bucket{${chosen}}[${rate}])))`,
              legend: "{{controller}}",
            },
          ],
        },
        {
          title: "Time in the queue",
          description: "The 99th percentile of how long a key waits for its controller.",
          unit: "s",
          queries: [
            {
              expr: `histogram_quantile(0.99, sum by (le, controller) (rate(bunting_operator_reconcile_wait_seconds_bucket{${chosen}}[${rate}])))`,
              legend: "{{controller}}",
            },
          ],
        },
        {
          title: "Drift",
          description: "Fields of our objects that others had changed, by who did.",
          unit: "reqps",
          queries: [perSecond("bunting_operator_drift_total", "kind, manager", "{{kind}}: {{manager}}")],
        },
      ],
    },
    {
      title: "The API server, and the process",
      panels: [
        {
          title: "Failures of watches",
          description:
            "By code; each is repeated after a backoff. NOT_FOUND: the cluster lacks a resource type.",
          unit: "reqps",
          queries: [perSecond("bunting_operator_watch_errors_total", "code", "{{code}}")],
        },
        {
          title: "Reads and events",
          description: "Consistent reads of what is watched, by reason, and events of the watches.",
          unit: "reqps",
          queries: [
            perSecond("bunting_operator_relists_total", "reason", "read: {{reason}}"),
            perSecond("bunting_operator_watch_events_total", "type", "{{type}}"),
            perSecond("bunting_operator_events_dropped_total", "job", "events not written"),
          ],
        },
        {
          title: "Memory",
          description: "Resident memory of each replica.",
          unit: "bytes",
          queries: [sum("process_resident_memory_bytes", "pod", "{{pod}}")],
        },
      ],
    },
  ],
};
