/** The parts of a view, each with an address of its own. */
import { useLocation } from 'preact-iso/router'
import { Icon, type IconName } from './icon.tsx'

export interface Tab {
  readonly href: string
  readonly label: string
  readonly icon?: IconName
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { path } = useLocation()
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, label, icon }) => (
        <a key={href} href={href} aria-current={samePath(path, href) ? 'page' : undefined}>
          {icon && <Icon name={icon} />}
          {label}
        </a>
      ))}
    </nav>
  )
}

function samePath(path: string, href: string): boolean {
  return decodeURI(path).replace(/\/$/, '') === decodeURI(href).replace(/\/$/, '')
}
