import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/sessions.css";
import "./styles/conversation.css";
import "./styles/composer.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { client, connectionCount } from "./connection/connection.ts";
import { holdDraggedFiles } from "./parts/dragged-files.ts";
import { startRouting } from "./route.ts";
import { restoreDesks } from "./session/desk.ts";
import { applyTheme } from "./theme.ts";
import { loadViews } from "./views.tsx";

// Before routing: the token must not stay in the address.
client();
applyTheme();
startRouting();
holdDraggedFiles();
restoreDesks();
const root = document.getElementById("app");
if (root) render(<App />, root);
// After the first view has its code and its connection.
effect(() => {
	if (connectionCount.value > 0) loadViews();
});
