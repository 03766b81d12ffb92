/** stub */
export function SessionsPage() { return <div class="sheet"><h1>Sessions</h1></div>; }
