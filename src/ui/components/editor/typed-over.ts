/** What is typed in the place of a selection. */
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

/**
 * Chromium carries the colour of what is typed over along, as a style within the element, which the policy of the page
 * refuses with an error on the console. So the editor puts the text there, as it does after it has read what the browser
 * put there. What is composed of several keys stays the browser's.
 */
export const TYPED_OVER: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing, cancelable } = event
    if (inputType !== 'insertText' || data === null || isComposing || !cancelable) return false
    if (view.composing || view.state.readOnly || view.state.selection.main.empty) return false
    const { from, to } = view.state.selection.main
    const insert = () => {
      const change = view.state.replaceSelection(data)
      return view.state.update(change, { userEvent: 'input.type', scrollIntoView: true })
    }
    // Such as the bracket that closes one.
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert())
    event.preventDefault()
    return true
  },
})
