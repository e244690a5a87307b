/** The tabs of a view, each with its own address. */
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Icon, type IconName } from './button.tsx'

export interface Tab {
  readonly href: string
  readonly label: string
  readonly icon?: IconName
  /** Set if other addresses belong to this tab too. */
  readonly isCurrent?: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { path } = useLocation()
  const row = useRef<HTMLElement>(null)
  useEffect(() => {
    // In a narrow window, the current tab may be scrolled out of view.
    const current = row.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [path])
  return (
    <nav ref={row} class="tabs" aria-label={label}>
      {tabs.map(({ href, label, icon, isCurrent = samePath(path, href) }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {icon && <Icon name={icon} />}
          {label}
        </a>
      ))}
    </nav>
  )
}

export function useTabOf(tabs: readonly Tab[]): Tab | undefined {
  const { path } = useLocation()
  return tabs.find(({ href, isCurrent = samePath(path, href) }) => isCurrent)
}

function samePath(path: string, href: string): boolean {
  return decodeURI(path).replace(/\/$/, '') === decodeURI(href).replace(/\/$/, '')
}
