/** Documents, and searches whose results must be the same in several stores. */

const WORDS =
  `tea green black smoked steamed grass roasted rice shade mountain river spring leaf bud
  oolong white yellow dark jasmine lemon ginger honey milk sugar cup pot water boil steep`.split(
    /\s+/,
  )

/** Random numbers that are the same in each run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** Documents that are the same in each run. */
export function corpus(count: number): readonly Readonly<Record<string, unknown>>[] {
  const next = random(7)
  const word = () => WORDS[Math.floor(next() * WORDS.length)] ?? ''
  return Array.from({ length: count }, (_, index) => ({
    id: `d${index}`,
    content: Array.from({ length: 4 + Math.floor(next() * 12) }, word).join(' '),
    price: Math.floor(next() * 50),
    weight: Math.round(next() * 1000) / 10,
    kind: ['green', 'black', 'Oolong', null][index % 4],
    day: `2024-0${1 + (index % 9)}-1${index % 10}`,
    fine: index % 3 === 0,
  }))
}

const TEXTS = [
  'green tea',
  'smoked',
  'rice and honey',
  'lemon lemon ginger pot',
  'unknown words only',
]
const CONDITIONS = [
  '',
  'AND price < 10',
  `AND kind = 'green' AND price BETWEEN 5 AND 40`,
  `AND kind IN ('black', 'Oolong') AND NOT (weight > 50)`,
  `AND (kind IS NULL OR day >= '2024-05-01')`,
  'AND fine = true AND price > 48',
  `AND id = 'd17'`,
]
export const MODES = [
  '',
  'AND hybrid_search = true',
  'AND hybrid_search_alpha = 0',
  'AND hybrid_search_alpha = 0.3',
]
const FUSIONS = ['', `AND hybrid_search = true AND hybrid_search_fusion = 'rrf'`]

/** With and without conditions, in every mode. */
export function searches(): readonly string[] {
  const all: string[] = []
  for (const text of TEXTS) {
    for (const condition of CONDITIONS) {
      for (const mode of [...MODES, ...FUSIONS.slice(1)]) {
        all.push(
          `SELECT id, chunk_content, price FROM kb WHERE content = '${text}' ${condition} ${mode} LIMIT 7`,
        )
      }
    }
  }
  return all
}
