"""What an inventory and its hosts must be before anything is changed; each thing that is not is a sentence."""
