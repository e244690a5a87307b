/** Lines over k. */
interface Line {
  readonly name: string
  /** From 0 to 1. */
  readonly values: readonly number[]
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [480, 200, 34, 20]
const [TOP, RIGHT] = [6, 10]
const MARKED_KS = [1, 5, 10, 15, 20]

interface CurveProps {
  readonly title: string
  readonly lines: readonly Line[]
  /** The k that is looked at. */
  readonly k: number
}

export function Curve({ title, lines, k }: CurveProps) {
  const count = Math.max(2, ...lines.map(({ values }) => values.length))
  const lowest = Math.min(...lines.flatMap(({ values }) => values))
  // Two good settings differ in the upper part alone.
  const floor = lowest >= 0.5 ? Math.min(0.9, Math.floor(lowest * 10) / 10) : 0
  const x = (index: number) => LEFT + (index / (count - 1)) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => TOP + ((1 - value) / (1 - floor)) * (HEIGHT - BOTTOM - TOP)
  const summary = lines.map(({ name, values }) => {
    return `${name}: ${(values[k - 1] ?? 0).toFixed(3)} at ${k}`
  })
  return (
    <figure class="panel search-curve">
      <figcaption>
        <strong>{title}</strong>
        {summary.map((one, line) => (
          <span key={one} class="small search-key">
            <span class={`search-stroke line-${line + 1}`} aria-hidden="true" /> {one}
          </span>
        ))}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}. ${summary.join(', ')}`}
      >
        {[floor, (1 + floor) / 2, 1].map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} class="tick" />
            <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {Number(value.toFixed(2))}
            </text>
          </g>
        ))}
        <line x1={x(k - 1)} x2={x(k - 1)} y1={TOP} y2={HEIGHT - BOTTOM} class="tick" />
        {MARKED_KS.map((one) => (
          <text key={one} x={x(one - 1)} y={HEIGHT - 4} text-anchor="middle">
            {one}
          </text>
        ))}
        {lines.map(({ name, values }, line) => (
          <polyline
            key={name}
            class={`line-${line + 1}`}
            points={values.map((value, index) => `${x(index)},${y(value)}`).join(' ')}
          />
        ))}
      </svg>
    </figure>
  )
}
