/** Lines over k, from 0 to 1. */
interface Line {
  readonly name: string
  readonly values: readonly number[]
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [320, 160, 30, 20]
const TICKS = [0, 0.5, 1]
/** Of the ten, which most people compare. */
const SHOWN_INDEX = 9

export function Curve({
  title,
  lines,
}: {
  readonly title: string
  readonly lines: readonly Line[]
}) {
  const count = Math.max(2, ...lines.map(({ values }) => values.length))
  const x = (index: number) => LEFT + (index / (count - 1)) * (WIDTH - LEFT - 8)
  const y = (value: number) => 6 + (1 - value) * (HEIGHT - BOTTOM - 6)
  const summary = lines.map(({ name, values }) => {
    return `${name}: ${(values[SHOWN_INDEX] ?? values.at(-1) ?? 0).toFixed(3)} at 10`
  })
  return (
    <figure class="panel search-curve">
      <figcaption>
        <strong>{title}</strong> <span class="small">{summary.join(' · ')}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}. ${summary.join(', ')}`}
      >
        {TICKS.map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={WIDTH - 8} y1={y(value)} y2={y(value)} class="tick" />
            <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {value}
            </text>
          </g>
        ))}
        {[1, 5, 10, count].map((k) => (
          <text key={k} x={x(k - 1)} y={HEIGHT - 4} text-anchor="middle">
            {k}
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
