import { openDialog } from "../parts/dialog.js";
import { Help } from "../parts/help.js";

export const startSession = (row) => openDialog(Help, { row });
