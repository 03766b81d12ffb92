/** stub */
export function SessionPage({ sessionId, view }: { sessionId: string; view: string }) { return <div class="sheet"><h1>{sessionId} {view}</h1></div>; }
