/** The counters of the running server: plain numbers, which cost next to nothing until they are read. */

/** Seconds. From an answer out of memory to one that takes minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

export type Labels = Readonly<Record<string, string>>

/** One line of a metric. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** Where it is not the metric's own. */
  readonly metricName?: string
}

/** A number for each combination of labels, which only grows. */
export class CountedBy<Name extends string> {
  readonly #names: readonly Name[]
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(...names: readonly Name[]) {
    this.#names = names
  }

  /** @param values one for each name, none of them of a caller's choice */
  add(amount: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    const known = this.#counts.get(key)
    if (known === undefined) {
      this.#counts.set(key, { labels: labelsOf(this.#names, values), value: amount })
    } else known.value += amount
  }

  samples(): readonly Sample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }))
  }
}

interface Durations {
  readonly labels: Labels
  /** Of each bucket alone; the last one is for what is longer than all. */
  readonly counts: number[]
  sum: number
}

/** How long something took, in buckets, for each combination of labels. */
export class DurationsBy<Name extends string> {
  readonly #names: readonly Name[]
  readonly #durations = new Map<string, Durations>()

  constructor(...names: readonly Name[]) {
    this.#names = names
  }

  add(ms: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    let known = this.#durations.get(key)
    if (known === undefined) {
      const counts = new Array<number>(SECONDS.length + 1).fill(0)
      known = { labels: labelsOf(this.#names, values), counts, sum: 0 }
      this.#durations.set(key, known)
    }
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < SECONDS.length && seconds > (SECONDS[bucket] ?? 0)) bucket += 1
    known.counts[bucket] = (known.counts[bucket] ?? 0) + 1
    known.sum += seconds
  }

  samples(name: string): readonly Sample[] {
    return [...this.#durations.values()].flatMap(({ labels, counts, sum }) => {
      let total = 0
      const buckets = counts.map((count, index) => {
        total += count
        const le = String(SECONDS[index] ?? '+Inf')
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total }
      })
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ]
    })
  }
}

function labelsOf(names: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

/** All counters. Labels come from closed lists: none is a name chosen by a user. */
export class Measurements {
  readonly requests = new CountedBy('method', 'route', 'status')
  readonly requestDurations = new DurationsBy('method', 'route')
  readonly requestErrors = new CountedBy('status')
  readonly statements = new CountedBy('kind', 'outcome')
  readonly statementDurations = new DurationsBy('kind')
  readonly statementFailures = new CountedBy('code')
  readonly searches = new CountedBy('kind', 'access')
  readonly embeddingTexts = new CountedBy('provider')
  readonly embeddings = new CountedBy('provider', 'outcome')
  readonly embeddingDurations = new DurationsBy('provider')
  readonly questions = new CountedBy('provider', 'purpose', 'outcome')
  readonly questionDurations = new DurationsBy('provider')
  readonly questionFailures = new CountedBy('code')
  readonly toolCalls = new CountedBy('provider')
  readonly tokens = new CountedBy('provider', 'direction')
  readonly cost = new CountedBy('provider')
  readonly jobs = new CountedBy('kind', 'state')
  readonly eventLoopLag = new DurationsBy<never>()
}
