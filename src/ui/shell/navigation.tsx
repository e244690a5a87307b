/** The way to every view: the tools, and each project with what is in it. */
import { useLocation } from 'preact-iso/router'
import { projects } from '../api/catalog.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { addressOf } from './addresses.ts'

export function Navigation() {
  return (
    <nav class="navigation" aria-label="Main">
      <ul>
        <Entry href="/" icon="home" label="Home" />
        <Entry href="/sql" icon="sql" label="SQL" />
        <Entry href="/operations" icon="gauge" label="Operations" />
      </ul>
      {(projects.value ?? []).map(({ name, knowledgeBases, agents }) => (
        <section key={name} aria-label={`Project ${name}`}>
          <h2 dir="auto">{name}</h2>
          <ul>
            {knowledgeBases.map((one) => (
              <Entry
                key={`k ${one.name}`}
                href={addressOf.knowledgeBase(name, one.name)}
                icon="database"
                label={one.name}
              />
            ))}
            {agents.map((one) => (
              <Entry
                key={`a ${one.name}`}
                href={addressOf.agent(name, one.name)}
                icon="agent"
                label={one.name}
              />
            ))}
            {knowledgeBases.length + agents.length === 0 && <li class="small quiet">Empty</li>}
          </ul>
        </section>
      ))}
      <ul>
        <Entry href={addressOf.newKnowledgeBase()} icon="plus" label="New knowledge base" />
        <Entry href={addressOf.newAgent()} icon="plus" label="New agent" />
      </ul>
    </nav>
  )
}

function Entry({
  href,
  icon,
  label,
}: {
  readonly href: string
  readonly icon: IconName
  readonly label: string
}) {
  const { path } = useLocation()
  const isHere = path === href || (href !== '/' && path.startsWith(`${href}/`))
  return (
    <li>
      <a href={href} aria-current={isHere ? 'page' : undefined} title={label}>
        <Icon name={icon} />
        <span dir="auto">{label}</span>
      </a>
    </li>
  )
}
