"""What may happen, who is asked, what is written down. Above: gate and doors. Below: the ground floor."""
